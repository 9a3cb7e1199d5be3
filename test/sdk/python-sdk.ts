import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { SdkCall, SdkClient, SdkResult } from './sdk-client.ts';

export const PYTHON = resolve(import.meta.dirname, '../../.cache/python/bin/python');

/** Why the Python SDK cannot be tested on this machine. `undefined` if it can. */
export function pythonMissing(): string | undefined {
  return existsSync(PYTHON)
    ? undefined
    : 'no Python environment in .cache/python: node scripts/setup.mjs --test makes it';
}

/** A Python process with the openai package, which reads calls from standard input. */
export function pythonClient(baseUrl: string, apiKey: string): SdkClient {
  const child: ChildProcess = spawn(PYTHON, [resolve(import.meta.dirname, 'openai_client.py')], {
    env: { ...process.env, BASE_URL: baseUrl, API_KEY: apiKey, NO_PROXY: '*' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  if (!child.stdout || !child.stdin) throw new Error('the Python process has no pipes');
  const { stdin } = child;
  const lines: Interface = createInterface({ input: child.stdout });
  const ended = once(child, 'exit').then(() => {
    throw new Error('the Python process ended');
  });
  ended.catch(() => {});
  return {
    call: async (call: SdkCall) => {
      stdin.write(`${JSON.stringify(call)}\n`);
      const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string];
      return JSON.parse(line) as SdkResult;
    },
    close: async () => {
      stdin.end();
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    },
  };
}
