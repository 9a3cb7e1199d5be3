import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { type Client, scriptOf } from './clients.ts';

/** A line of output of `node/acts.mjs` or `python/acts.py`. */
export interface ActResult {
  readonly act: 'chat' | 'stream' | 'tool' | 'poor';
  readonly got?: unknown;
  readonly error?: ActError;
}

export interface ActError {
  readonly name: string;
  readonly message: string;
  readonly at: string | null;
  readonly code: string | null;
}

export interface ActSurroundings {
  readonly url: string;
  readonly key: string;
  readonly poorKey: string;
  readonly model: string;
  /** An empty folder, in which clients store files. */
  readonly home: string;
}

const ROOT = resolve(import.meta.dirname, '../..');
const LONGEST_MS = 240_000;

/** Turns off telemetry and downloads, which would wait for unreachable hosts. */
const QUIET = {
  ANONYMIZED_TELEMETRY: 'false',
  HAYSTACK_TELEMETRY_ENABLED: 'False',
  LITELLM_LOCAL_MODEL_COST_MAP: 'True',
  MEM0_TELEMETRY: 'False',
};

export function clientsMissing(): string | undefined {
  return ['test/clients/node/node_modules/.setup-stamp', '.cache/clients/.setup-stamp'].every((stamp) =>
    existsSync(resolve(ROOT, stamp)),
  )
    ? undefined
    : 'the packages of clients: npm run test:clients installs them';
}

function commandOf(client: Client): readonly [string, readonly string[]] {
  const { file, runtime } = client;
  const folder = dirname(scriptOf(client));
  if (runtime === 'node') return [process.execPath, [join(folder, 'acts.mjs'), file]];
  return [resolve(ROOT, '.cache/clients', runtime, 'bin/python'), [join(folder, 'acts.py'), file]];
}

/** Runs all acts of a client in its own process. */
export async function runClient(client: Client, surroundings: ActSurroundings): Promise<readonly ActResult[]> {
  const [command, args] = commandOf(client);
  const child = spawn(command, args, {
    // The test's environment is not passed on, because clients may read options from it.
    env: {
      ...QUIET,
      PATH: process.env.PATH,
      HOME: surroundings.home,
      TMPDIR: surroundings.home,
      NO_PROXY: '*',
      // For Python clients, compiling imports costs as much as running them, so the bytecode is
      // cached.
      PYTHONPYCACHEPREFIX: resolve(ROOT, '.cache/clients/bytecode'),
      GATEWAY_URL: surroundings.url,
      GATEWAY_KEY: surroundings.key,
      POOR_KEY: surroundings.poorKey,
      GATEWAY_MODEL: surroundings.model,
    },
    cwd: surroundings.home,
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: LONGEST_MS,
    killSignal: 'SIGKILL',
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  if (code !== 0) throw new Error(`${client.name} ended with ${code}:\n${stderr}`);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as ActResult);
}
