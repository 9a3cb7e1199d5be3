import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import type { BodyCost } from '../../load/validation-cpu.ts';

/**
 * 1.5 times the bounds that docs/reliability.md promises for a quiet machine: beside other work the
 * same code takes up to 1.5 times the CPU. Without bounded steps, these bodies took 298 to 760 ms
 * in one step.
 */
const MOST_CPU_MS = 1.5 * 150;
const MOST_STEP_MS = 1.5 * 50;
const LARGEST_BODY_BYTES = 20 * 1024 * 1024;

test('no body of 20 MiB takes much CPU or blocks the event loop', {
  timeout: 300_000,
}, async () => {
  const script = resolve(import.meta.dirname, '../../load/validation-cpu.ts');
  const { stdout } = await promisify(execFile)(process.execPath, [script, `${MOST_CPU_MS}`, `${MOST_STEP_MS}`]);
  const costs = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as BodyCost);
  expect(costs.length).toBeGreaterThan(30);
  const isTooExpensive = ({ bytes, validation, estimate }: BodyCost) =>
    bytes > LARGEST_BODY_BYTES ||
    [validation, estimate].some(({ cpuMs, stepMs }) => cpuMs >= MOST_CPU_MS || stepMs >= MOST_STEP_MS);
  expect(costs.filter(isTooExpensive)).toEqual([]);
});
