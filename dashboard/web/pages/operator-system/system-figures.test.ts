import { describe, expect, it } from 'vitest';
import type { ProcessView, SystemView } from '#contract/operator.ts';
import type { ProcessFigures } from '#core/process-figures.ts';
import { holdsOf, reportWith } from '#test/fixtures/process-report.ts';
import { formatRate, inOrder, ratesOf, totalsOf, troublesOf } from './system-figures.ts';

const PROCESS: ProcessView = {
  id: 'a',
  host: 'alpha',
  worker: 0,
  pid: 1,
  startedAtMs: 1,
  reportedAtMs: 2,
  state: 'ready',
  figures: reportWith({
    requests: { inFlight: 3, ended: 3, failed: 1 },
    holds: holdsOf({ acme: ['9007199254740993', 1] }),
  }),
};
const processWith = (figures: Partial<ProcessFigures>): ProcessView => ({
  ...PROCESS,
  figures: { ...PROCESS.figures, ...figures },
});
const SYSTEM: SystemView = {
  nowMs: 3,
  processes: [PROCESS],
  database: { version: '18', sizeBytes: 1, connections: 10, maxConnections: 100, schemaVersion: 9 },
  deadLetters: 0,
};
const DROPPED = { requestLog: { waiting: 0, dropped: 7 } };
const titles = (system: Partial<SystemView>) => troublesOf({ ...SYSTEM, ...system }).map(({ title }) => title);

describe('the system page', () => {
  it('adds up the reporting processes exactly, without those that are gone', () => {
    const totals = totalsOf([
      PROCESS,
      { ...PROCESS, id: 'b', state: 'not_ready' },
      { ...PROCESS, id: 'c', state: 'gone' },
    ]);
    expect(totals).toMatchObject({ ready: 1, reporting: 2, requestsInFlight: 6, requestsPerSecond: 3 });
    expect(ratesOf(processWith({ overMs: 0 })).requests).toBe(3_000);
    expect(totals.heldNanoUsd).toBe('18014398509481986');
  });

  it('has no trouble if all is well', () => {
    expect(titles({})).toEqual([]);
    expect(titles({ processes: [PROCESS, { ...PROCESS, state: 'draining' }] })).toEqual([]);
  });

  it.each<[Partial<SystemView>, string]>([
    [{ processes: [] }, 'No gateway process is reporting'],
    [{ processes: [{ ...PROCESS, state: 'gone' }] }, 'No gateway process is reporting'],
    [{ deadLetters: 1 }, 'The ledger refused a charge'],
    [{ deadLetters: 1200 }, 'The ledger refused 1,200 charges'],
    [{ processes: [PROCESS, { ...PROCESS, state: 'not_ready' }] }, '1 of 2 processes not ready'],
    [{ processes: [processWith({ envoy: { reachable: false } })] }, 'Envoy does not respond'],
    [{ processes: [processWith({ waitingCharges: { count: 2, bytes: 1 } })] }, '2 charges wait for the database'],
    [{ processes: [processWith(DROPPED)] }, '7 rows of the request log were dropped'],
    [{ processes: [processWith({ eventLoopLagMs: { p50: 1, p99: 251, max: 900 } })] }, 'A process answers slowly'],
    [{ database: { ...SYSTEM.database, connections: 81 } }, 'The database is running out of connections'],
  ])('reports trouble: %#', (system, title) => {
    expect(titles(system)).toEqual([title]);
  });

  it('puts problems before warnings', () => {
    expect(titles({ deadLetters: 1, processes: [processWith(DROPPED)] })[0]).toBe('The ledger refused a charge');
  });

  it('keeps processes in a stable order', () => {
    const ids = (processes: readonly ProcessView[]) => inOrder(processes).map(({ id }) => id);
    const others = [
      { ...PROCESS, id: 'c', worker: 2 },
      { ...PROCESS, id: 'd', host: 'beta' },
      { ...PROCESS, id: 'b', worker: 1 },
    ];
    expect(ids([...others, PROCESS])).toEqual(['a', 'b', 'c', 'd']);
    expect(ids([PROCESS, ...others].toReversed())).toEqual(['a', 'b', 'c', 'd']);
  });

  it('rounds rates, but never to zero', () => {
    expect([0, 0.01, 0.44, 9.94, 9.96, 1234.4].map(formatRate)).toEqual(['0', '<0.1', '0.4', '9.9', '10', '1,234']);
  });
});
