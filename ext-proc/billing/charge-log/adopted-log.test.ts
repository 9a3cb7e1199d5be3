import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { charge, openLog, told } from './charge-log.fixture.ts';

it('an adopted log hides no newer commit of the process that adopted it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gw log '));
  const open = (workerIndex: number) => openLog(folder, told(), { workerIndex });
  for (const [workerIndex, id] of [
    [1, 'newer'],
    [3, 'older'],
  ] as const) {
    const log = await open(workerIndex);
    await log.append(charge(id));
    log.committed([id], 'epoch');
    await log.close();
  }
  for (const _ of ['adopts', 'has adopted']) {
    const log = await open(1);
    expect(log.lastCommits.map(({ generationId }) => generationId)).toEqual(['newer', 'older']);
    await log.close();
  }
  rmSync(folder, { recursive: true });
});
