import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const LOG = new URL('./log.ts', import.meta.url);
/** Some 1 KB each: far more than may wait. */
const LINES = 40_000;

/** Writes its lines and reports that; ends on request, as after a drain. */
const PROGRAM = `
  import { createLog } from ${JSON.stringify(LOG)};
  const log = createLog('info');
  const filler = 'x'.repeat(1000);
  for (let line = 0; line < ${LINES}; line++) log.info({ line, filler });
  process.on('message', (message) => message === 'more' ? log.info('more') : process.exit(0));
  const said = setInterval(() => process.send({ rss: process.memoryUsage().rss }), 100);
`;

function start(standardOutput: number | 'pipe'): ChildProcess {
  return spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    stdio: ['ignore', standardOutput, 'pipe', 'ipc'],
  });
}

/** Resolves with its memory when it has answered that often. */
async function answers(child: ChildProcess, times: number): Promise<number> {
  let rss = 0;
  for (let answer = 0; answer < times; answer++) [{ rss }] = (await once(child, 'message')) as [{ rss: number }];
  return rss;
}

const MOST_RSS_BYTES = 256 * 1024 * 1024;

describe('the log', () => {
  it('on a full disk neither ends the process, fills the memory nor delays the end', async () => {
    const full = openSync('/dev/full', 'w');
    const child = start(full);
    closeSync(full);
    expect(await answers(child, 10)).toBeLessThan(MOST_RSS_BYTES);
    child.send('end');
    expect(await once(child, 'exit')).toEqual([0, null]);
  });

  it('in a pipe without a reader does none of this either', async () => {
    const child = start('pipe');
    // A write is stuck for longer than a write may take.
    expect(await answers(child, 15)).toBeLessThan(MOST_RSS_BYTES);
    child.send('end');
    // The process ends at once, in the only way that is left.
    expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
  });

  it('reports how many lines were dropped once there is a reader again, and goes on', async () => {
    const child = start('pipe');
    await answers(child, 5);
    let text = '';
    child.stdout?.on('data', (piece: Buffer) => {
      text += piece.toString();
    });
    await expect.poll(() => text).toContain('were dropped');
    child.send('more');
    await expect.poll(() => text).toContain('"msg":"more"');
    child.send('end');
    await once(child, 'close');
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { line?: number; lines?: number });
    const dropped = lines.find((line) => line.lines !== undefined)?.lines ?? 0;
    const written = lines.filter(({ line }) => line !== undefined).map(({ line }) => line);
    expect(dropped).toBeGreaterThan(0);
    expect(written.length + dropped).toBe(LINES);
    expect(written).toEqual([...written].sort((a = 0, b = 0) => a - b));
  });
});
