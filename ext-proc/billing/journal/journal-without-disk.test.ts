import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { intent, TARGET } from './intent.fixture.ts';
import { openIntentJournal } from './intent-journal.ts';
import { readLeftIntents } from './intent-lines.ts';

describe('a journal on a disk that takes nothing', () => {
  it('says so once, fails no request, and is whole again when the disk takes it', async () => {
    const failures: unknown[] = [];
    const folder = mkdtempSync(join(tmpdir(), 'gw-journal-'));
    const path = join(folder, 'gone', 'intents-0.jsonl');
    const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() };
    const journal = openIntentJournal({ path, clock, onFailure: (error) => failures.push(error) });
    const request = journal.open(intent('gen-1'));
    request.asked(TARGET);
    await sleep(0);
    request.delivers(() => ({ tokens: 1, upstreamId: undefined }));
    request.settled();
    journal.open(intent('gen-2')).asked(TARGET);
    expect(failures).toHaveLength(1);
    expect(journal.isBehind()).toBe(true);
    mkdirSync(join(folder, 'gone'));
    await expect.poll(async () => (await readLeftIntents(path)).left.map((one) => one.generationId)).toEqual(['gen-2']);
    expect(journal.isBehind()).toBe(false);
    expect(failures).toHaveLength(1);
    journal.close();
    rmSync(folder, { recursive: true });
  });
});
