import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { CheckpointRun } from '#database/checkpoints/checkpoints.ts';
import { openCheckpointWriter } from './open-checkpoint-writer.ts';

test('tries repeatedly, with one key and for checkpoints an hour apart, even after a failure, until it is stopped', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'gw-open-checkpoint-writer-'));
  const looks: CheckpointRun[] = [];
  const warnings: string[] = [];
  const enough = Promise.withResolvers<void>();
  const write = async (run: CheckpointRun) => {
    looks.push(run);
    if (looks.length === 2) throw new Error('away');
    if (looks.length === 4) enough.resolve();
    return 0;
  };
  const log = { warn: (_fields: unknown, message?: string) => void warnings.push(message ?? '') };
  const stop = openCheckpointWriter(write, { chargeLogDir: join(folder, 'spool') }, log, 1);
  await enough.promise;
  stop();
  const before = looks.length;
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(looks).toHaveLength(before);
  expect(warnings).toEqual(['checkpoints of the ledger could not be written; the next try is in minutes']);
  expect(new Set(looks.map(({ privateKey }) => privateKey.export({ format: 'pem', type: 'pkcs8' }))).size).toBe(1);
  expect(new Set(looks.map(({ everyMs }) => everyMs))).toEqual(new Set([3_600_000]));
  await rm(folder, { recursive: true });
});
