import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Accounting } from '../billing/accounting.ts';
import { type ClosingParts, closeGateway } from './close-gateway.ts';

let done: string[] = [];
/** Numbers of requests in flight that successive looks find. */
let left: number[] = [];
let waiting = 0;
let openHolds = 0;
beforeEach(() => {
  done = [];
  left = [];
  waiting = 0;
  openHolds = 0;
});

const step = (name: string) => async () => void done.push(name);

function parts(over: Partial<ClosingParts> = {}): ClosingParts {
  return {
    transport: {
      drain: async () => {
        done.push('drain');
        return left.shift() ?? 0;
      },
      endUploads: () => void done.push('end uploads'),
      close: step('close transport'),
    },
    envoy: { handedOut: step('handed out'), close: step('let Envoy go') },
    money: {
      accounting: { end: () => void done.push('cut') } as unknown as Accounting,
      openHolds: () => openHolds,
      close: step('close money'),
      waiting: () => waiting,
      closeLog: step('close log'),
    },
    tokens: { estimateAfter: () => {} },
    log: pino({ level: 'silent' }),
    refuse: () => void done.push('refuse'),
    closeServing: step('close serving'),
    leaveLimits: step('leave limits'),
    closeStores: step('close stores'),
    ...over,
  };
}

const CLOSED = ['close serving', 'close money', 'leave limits', 'close stores', 'close log'];

describe('the end of a gateway process', () => {
  it('cuts no request if all end in time, and closes the parts that charges need last', async () => {
    expect(await closeGateway(parts(), 0)).toBe(0);
    const ended = ['handed out', 'let Envoy go', 'close transport', 'drain'];
    expect(done).toEqual(['handed out', 'refuse', 'drain', ...ended, ...CLOSED]);
  });

  it('cuts the remaining requests, and waits for them before anything is closed', async () => {
    left = [3];
    expect(await closeGateway(parts(), 0)).toBe(0);
    const cut = ['cut', 'end uploads', 'drain', 'handed out'];
    expect(done).toEqual([
      'handed out',
      'refuse',
      'drain',
      ...cut,
      'let Envoy go',
      'close transport',
      'drain',
      ...CLOSED,
    ]);
  });

  it('fails if a hold is left, but not if a charge waits in the log', async () => {
    waiting = 1;
    expect(await closeGateway(parts(), 0)).toBe(0);
    openHolds = 1;
    expect(await closeGateway(parts(), 0)).toBe(1);
    waiting = 0;
    expect(await closeGateway(parts(), 0)).toBe(1);
    // The next owner of the limits has to wait for it.
    expect(done).not.toContain('leave limits');
  });

  it('goes on if a part does not close', async () => {
    expect(await closeGateway(parts({ closeServing: () => new Promise(() => {}) }), 0)).toBe(0);
    expect(done.at(-1)).toBe('close log');
  });
});
