import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Settlement } from '../stores/ledger.ts';
import { openSpool } from './spool.ts';

const settlement: Settlement = {
  generationId: 'gen-01ARZ3NDEKTSV4RRFFQ69G5FAV',
  organizationId: 'org-1',
  keyId: 'key-1',
  day: 20_000,
  model: 'm',
  provider: 'p',
  createdAtMs: 1,
  streamed: true,
  cancelled: false,
  usage: { promptTokens: 3, completionTokens: 4, cachedTokens: 1, reasoningTokens: 0 },
  usageCounted: false,
  prices: { inputPicoUsd: 250_000n, cachedInputPicoUsd: 25_000n, outputPicoUsd: 2_000_000n },
  costNanoUsd: 9_007_199_254_740_993n,
  latencyMs: 12.5,
  generationTimeMs: 100,
};
const other = { ...settlement, generationId: 'gen-01ARZ3NDEKTSV4RRFFQ69G5FAW' };

describe('the spool', () => {
  let folder = '';
  let path = '';
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gw spool '));
    path = join(folder, 'deep', 'settlements.jsonl');
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('gives back after a crash what was appended, amounts exact', async () => {
    const before = await openSpool(path);
    await Promise.all([before.append(settlement), before.append(other)]);
    // No close: the process died here.
    const after = await openSpool(path);
    expect(after.pending()).toEqual([settlement, other]);
    await Promise.all([before.close(), after.close()]);
  });

  it('is empty on disk once everything is removed, and stays whole until then', async () => {
    const spool = await openSpool(path);
    await spool.append(settlement);
    await spool.append(other);
    await spool.remove(settlement.generationId);
    expect(await readFile(path, 'utf8')).toContain(other.generationId);
    await spool.remove(other.generationId);
    expect(await readFile(path, 'utf8')).toBe('');
    expect(spool.pending()).toEqual([]);
    await spool.close();
  });

  it('passes over a line that a crash cut short, and keeps the ones after it', async () => {
    const first = await openSpool(path);
    await first.append(settlement);
    await appendFile(path, '{"generationId":"gen-0');
    await first.close();
    const second = await openSpool(path);
    await second.append(other);
    await second.close();
    const third = await openSpool(path);
    expect(third.pending()).toEqual([settlement, other]);
    await third.close();
  });
});
