import { spawnSync } from 'node:child_process';

/** Runs to the end without a shell, so that paths with spaces need no care. `output` is what it said, both streams, for error messages. */
export function runCommand(command, args, options = {}) {
  const result = spawnSync(command, args, {
    encoding: 'utf8',
    maxBuffer: 16 * 1024 * 1024,
    timeout: 15 * 60_000,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...options,
  });
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}`.trim();
  const missing = result.error !== undefined && result.error.code === 'ENOENT';
  return { ok: result.status === 0, missing, output: output === '' && result.error ? result.error.message : output };
}

export function lastLines(text, count = 6) {
  return text
    .split('\n')
    .slice(-count)
    .map((line) => `    ${line}`)
    .join('\n');
}
