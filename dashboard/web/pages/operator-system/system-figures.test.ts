import { describe, expect, it } from 'vitest';
import type { ProcessView, SystemView } from '#contract/operator.ts';
import { formatRate, inOrder, totalsOf, troublesOf } from './system-figures.ts';

const PROCESS: ProcessView = {
  id: 'a',
  host: 'alpha',
  worker: 0,
  pid: 1,
  version: '1.0.0',
  startedAtMs: 1,
  reportedAtMs: 2,
  state: 'ready',
  requestsInFlight: 3,
  requestsPerSecond: 1.5,
  failuresPerSecond: 0.5,
  heldNanoUsd: '9007199254740993',
  holds: 1,
  spoolCharges: 1,
  spoolBytes: 10,
  logRowsWaiting: 0,
  logRowsDropped: 0,
  eventLoopLagP99Ms: 12,
  rssBytes: 1,
  cpuFraction: 0.1,
};
const SYSTEM: SystemView = {
  nowMs: 3,
  processes: [PROCESS],
  database: { version: '18', sizeBytes: 1, connections: 10, maxConnections: 100, schemaVersion: 9 },
  deadLetters: 0,
};
const titles = (system: Partial<SystemView>) => troublesOf({ ...SYSTEM, ...system }).map(({ title }) => title);

describe('the system page', () => {
  it('adds up the reporting processes exactly, without those that are gone', () => {
    const totals = totalsOf([
      PROCESS,
      { ...PROCESS, id: 'b', state: 'not_ready' },
      { ...PROCESS, id: 'c', state: 'gone' },
    ]);
    expect(totals).toMatchObject({ ready: 1, reporting: 2, requestsInFlight: 6, requestsPerSecond: 3 });
    expect(totals.heldNanoUsd).toBe('18014398509481986');
  });

  it('has no trouble if all is well', () => {
    expect(titles({})).toEqual([]);
  });

  it.each<[Partial<SystemView>, string]>([
    [{ processes: [] }, 'No gateway process is reporting'],
    [{ processes: [{ ...PROCESS, state: 'gone' }] }, 'No gateway process is reporting'],
    [{ deadLetters: 1 }, 'The ledger refused a charge'],
    [{ deadLetters: 1200 }, 'The ledger refused 1,200 charges'],
    [{ processes: [PROCESS, { ...PROCESS, state: 'not_ready' }] }, '1 of 2 processes not ready'],
    [{ processes: [{ ...PROCESS, envoy: { reachable: false } }] }, 'Envoy does not respond'],
    [{ processes: [{ ...PROCESS, logRowsDropped: 7 }] }, '7 rows of the request log were dropped'],
    [{ processes: [{ ...PROCESS, eventLoopLagP99Ms: 500 }] }, 'A process answers slowly'],
    [{ database: { ...SYSTEM.database, connections: 95 } }, 'The database is running out of connections'],
  ])('reports trouble: %#', (system, title) => {
    expect(titles(system)).toEqual([title]);
  });

  it('puts problems before warnings', () => {
    expect(titles({ deadLetters: 1, processes: [{ ...PROCESS, logRowsDropped: 7 }] })[0]).toBe(
      'The ledger refused a charge',
    );
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
