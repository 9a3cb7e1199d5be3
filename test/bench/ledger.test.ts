import { expect, test } from 'vitest';
import {
  addsUp,
  ENDED,
  kernelMicros,
  ledgerBetween,
  type Snapshot,
  sumOf,
  type ThreadUse,
  totalMicros,
} from './ledger.ts';

const WORKER: ThreadUse = {
  process: 'envoy',
  group: 'workers',
  micros: 100,
  userTicks: 3,
  kernelTicks: 1,
  wakeUps: 7,
};

function snapshot(kernelsMicros: number, threads: Record<number, ThreadUse>): Snapshot {
  return { kernelsMicros, threads: new Map(Object.entries(threads).map(([id, use]) => [Number(id), use])) };
}

test('a group has the sum of what its threads used since the first snapshot', () => {
  const before = snapshot(100, { 1: WORKER, 3: { ...WORKER, group: 'others' } });
  const after = snapshot(900, {
    1: { ...WORKER, micros: 450, userTicks: 33, kernelTicks: 11, wakeUps: 10 },
    // A thread that started in between.
    2: { ...WORKER, micros: 50 },
    3: { ...WORKER, group: 'others' },
  });
  expect(ledgerBetween(before, after)).toEqual({
    uses: [
      { ...WORKER, micros: 400, userTicks: 33, kernelTicks: 11, wakeUps: 10 },
      { ...WORKER, group: 'others', micros: 0, userTicks: 0, kernelTicks: 0, wakeUps: 0 },
    ],
    kernelsMicros: 800,
  });
});

test('an ended child counts with what it used between the snapshots, not with its whole life', () => {
  const ended = { ...WORKER, process: 'postgres', group: ENDED, wakeUps: 0 };
  const backend = { ...WORKER, process: 'postgres', group: 'backends', micros: 80, userTicks: 2 };
  const before = snapshot(100, { [-1]: { ...ended, micros: 1000 }, 7: backend });
  const after = snapshot(200, { [-1]: { ...ended, micros: 1090, userTicks: 6, kernelTicks: 2 } });
  expect(ledgerBetween(before, after).uses).toEqual([{ ...ended, micros: 10, userTicks: 1, kernelTicks: 0 }]);
});

test('ledgers of several rounds are added up', () => {
  const round = { uses: [WORKER, { ...WORKER, process: 'gateway' }], kernelsMicros: 210 };
  const sum = sumOf([round, round, round]);
  expect(sum.uses.map(({ process, micros, wakeUps }) => [process, micros, wakeUps])).toEqual([
    ['envoy', 300, 21],
    ['gateway', 300, 21],
  ]);
  expect(sum.kernelsMicros).toBe(630);
  expect(totalMicros(sum)).toBe(600);
});

test.each([
  { userTicks: 3, kernelTicks: 1, kernel: 25 },
  { userTicks: 0, kernelTicks: 4, kernel: 100 },
  { userTicks: 0, kernelTicks: 0, kernel: 0 },
])(
  'with $userTicks user and $kernelTicks kernel ticks the kernel used $kernel microseconds',
  ({ kernel, ...ticks }) => {
    expect(kernelMicros({ ...WORKER, ...ticks })).toBe(kernel);
  },
);

test.each([
  { micros: 1_900_000, whole: 2_000_000, is: true },
  { micros: 1_890_000, whole: 2_000_000, is: false },
  { micros: 2_110_000, whole: 2_000_000, is: false },
  { micros: 0, whole: 990_000, is: true },
])('$micros us of the groups and $whole us of the kernel add up: $is', ({ micros, whole, is }) => {
  expect(addsUp({ uses: [{ ...WORKER, micros }], kernelsMicros: whole })).toBe(is);
});
