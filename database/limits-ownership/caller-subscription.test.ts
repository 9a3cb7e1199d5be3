import { describe, expect, it } from 'vitest';
import { CallerSubscription } from './caller-subscription.ts';

/** A subscription whose connection answers when the test says so. */
function subscribed() {
  let nowMs = 0;
  const subscription = new CallerSubscription({ nowMs: () => nowMs, monotonicMs: () => nowMs });
  const told: (string | undefined)[] = [];
  subscription.onChanged((organizationId) => void told.push(organizationId));
  function connect() {
    const sent: ((isProof: boolean) => void)[] = [];
    let tell = (_notification: { payload: string }): void => {};
    const connection = {
      on: (_event: string, listener: typeof tell) => {
        tell = listener;
      },
    };
    subscription.begin(connection as never, () => new Promise((answer) => sent.push(answer)));
    return { sent, tell: (payload: string) => tell({ payload }) };
  }
  const isProvedAt = (atMs: number) => {
    nowMs = atMs;
    return subscription.isProved();
  };
  return { subscription, told, connect, isProvedAt };
}

const turn = () => new Promise(setImmediate);

describe('a proof', () => {
  it('is requested with a request, and is valid for 250 ms after it was sent', async () => {
    const { connect, isProvedAt } = subscribed();
    const { sent } = connect();
    expect(sent).toHaveLength(0);
    expect(isProvedAt(1_000)).toBe(false);
    expect(isProvedAt(1_200)).toBe(false);
    expect(sent).toHaveLength(1);
    sent[0]?.(true);
    await turn();
    expect(isProvedAt(1_249)).toBe(true);
    expect(isProvedAt(1_250)).toBe(false);
  });

  it('is requested again after 100 ms, so that steady requests always have one', async () => {
    const { connect, isProvedAt } = subscribed();
    const { sent } = connect();
    isProvedAt(0);
    sent[0]?.(true);
    await turn();
    for (let atMs = 10; atMs < 2_000; atMs += 10) {
      expect(isProvedAt(atMs)).toBe(true);
      sent.at(-1)?.(true);
      await turn();
    }
    expect(sent.length).toBeLessThanOrEqual(20);
  });

  it('is missing if PostgreSQL does not reply, or another process is the owner', async () => {
    const { connect, isProvedAt } = subscribed();
    const { sent } = connect();
    isProvedAt(0);
    sent[0]?.(true);
    await turn();
    expect(isProvedAt(100)).toBe(true);
    sent[1]?.(false);
    await turn();
    expect(isProvedAt(101)).toBe(false);
  });

  it('ends with its connection, and one from a former connection does not count', async () => {
    const { subscription, connect, isProvedAt } = subscribed();
    const former = connect();
    isProvedAt(0);
    const later = connect();
    former.sent[0]?.(true);
    await turn();
    expect(isProvedAt(1)).toBe(false);
    later.sent[0]?.(true);
    await turn();
    expect(isProvedAt(2)).toBe(true);
    subscription.end();
    expect(isProvedAt(3)).toBe(false);
  });
});

it('a connection that begins or ends may have missed every change', () => {
  const { subscription, told, connect } = subscribed();
  const former = connect();
  former.tell('org-1');
  former.tell('');
  expect(told).toEqual([undefined, 'org-1', undefined]);
  const later = connect();
  former.tell('org-2');
  later.tell('org-3');
  subscription.end();
  expect(told.slice(3)).toEqual([undefined, 'org-3', undefined]);
});
