import { spawnSync } from 'node:child_process';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createIsoTime, createLog } from './log.ts';

test('LOG_LEVEL may be absent, empty and in any case', () => {
  const levels = [undefined, '', 'info', 'WARN', 'silent'].map((given) => createLog(given).level);
  expect(levels).toEqual(['info', 'info', 'info', 'warn', 'silent']);
});

test('all logs of a process write their last lines by one listener', () => {
  const before = process.listenerCount('exit');
  createLog();
  expect(process.listenerCount('exit')).toBe(before);
});

test('an unknown LOG_LEVEL is reported with what is accepted, and info is used', () => {
  const module = new URL('./log.ts', import.meta.url).href;
  const program = `import { createLog } from ${JSON.stringify(module)}; createLog('loud').info('shown');`;
  const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' });
  const messages = stdout
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { msg: string }).msg);
  const problem = 'LOG_LEVEL takes trace, debug, info, warn, error, fatal, silent, not "loud"';
  expect(messages).toEqual([problem, 'shown']);
});

test('the time of a line is what toISOString gives, whatever was asked before', () => {
  const isoTime = createIsoTime();
  const near = fc.integer({ min: 1_795_305_599_000, max: 1_795_305_601_999 });
  const far = fc.integer({ min: -62_000_000_000_000, max: 250_000_000_000_000 });
  fc.assert(
    fc.property(fc.oneof(near, far), (nowMs) => {
      expect(isoTime(nowMs)).toBe(new Date(nowMs).toISOString());
    }),
    { numRuns: 1_000 },
  );
});
