import { shellText } from '#core/shell-text.ts';

/** A client library or agent of docs/clients.md, with its tested snippet. */
export interface Client {
  readonly name: string;
  readonly group: 'Libraries' | 'Agents';
  readonly note: string;
  readonly language: string;
  readonly code: string;
  /** An API that the gateway must offer besides chat completions. */
  readonly needs?: string;
}

const GROUPS: Readonly<Record<string, Client['group']>> = { Snippets: 'Libraries', Agents: 'Agents' };
const FENCED = /^([\s\S]*?)```(\w+)\n([\s\S]*?)\n```/;

/** Parses the snippets in docs/clients.md, which `npm run test:clients` runs. */
export function clientsIn(markdown: string): readonly Client[] {
  return markdown.split(/^## /m).flatMap((section) => {
    const [heading = '', ...entries] = section.split(/^### /m);
    const group = GROUPS[heading.split('\n', 1)[0] ?? ''];
    return group === undefined ? [] : entries.flatMap((entry) => clientOf(group, entry) ?? []);
  });
}

function clientOf(group: Client['group'], entry: string): Client | undefined {
  const [name = '', ...rest] = entry.split('\n');
  const [, text, language, code] = FENCED.exec(rest.join('\n')) ?? [];
  if (text === undefined || language === undefined || code === undefined) return undefined;
  const note = text.trim().replaceAll(/\s+/g, ' ').replaceAll('`', '');
  const needs = /apis: \{(\w+): true\}/.exec(note)?.[1];
  return { name, group, note, language, code, ...(needs !== undefined && { needs }) };
}

/** The environment variables that all snippets read. */
export function environment(apiUrl: string, secret: string, model: string): string {
  const values = { GATEWAY_URL: apiUrl, GATEWAY_KEY: secret, GATEWAY_MODEL: model };
  return Object.entries(values)
    .map(([name, value]) => `export ${name}=${shellText(value)}`)
    .join('\n');
}
