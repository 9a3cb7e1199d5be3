import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A client library that runs against the gateway as its registry serves it. */
export interface Client {
  /** As docs/clients.md names it. */
  readonly name: string;
  /** Its file in `node` or `python`, without the ending. */
  readonly file: string;
  /** Python: the environment in `.cache/clients` (scripts/setup/clients.mjs). */
  readonly runtime: 'node' | 'openai-3' | 'openai-2' | 'pydantic-2.13';
  /** Class of the error that its caller gets for a 402, and the gateway's code in it. */
  readonly error: { readonly name: string; readonly at: string };
}

export const CLIENTS: readonly Client[] = [
  {
    name: 'openai (Node)',
    file: 'openai',
    runtime: 'node',
    error: { name: 'APIError', at: 'error.code' },
  },
  {
    name: 'openai (Python)',
    file: 'openai_client',
    runtime: 'openai-3',
    error: { name: 'APIStatusError', at: 'error.code' },
  },
];

/** The model of a client, by which the provider knows whose request it has. */
export function modelOf({ file, runtime }: Client): string {
  return `${runtime}-${file}`;
}

const END_OF_SNIPPET = /^(?:\/\/|#) End of the snippet\.$/m;

export function scriptOf({ file, runtime }: Client): string {
  const [folder, ending] = runtime === 'node' ? ['node', 'mjs'] : ['python', 'py'];
  return join(import.meta.dirname, folder, `${file}.${ending}`);
}

/** The lines of its script that docs/clients.md shows. */
export function snippetOf(client: Client): string {
  const [snippet = '', ...others] = readFileSync(scriptOf(client), 'utf8').split(END_OF_SNIPPET);
  if (others.length !== 1) throw new Error(`${client.file} has ${others.length} ends of its snippet`);
  return snippet.trim();
}
