import { describe, expect, test } from 'vitest';
import { createGathering, type Waiting } from './gathering.ts';

interface Item extends Waiting {
  readonly id: number;
}

const refused: unknown[] = [];
const item = (id: number): Item => ({ id, reject: (error) => refused.push(error) });
const turn = () => new Promise((resolve) => setImmediate(resolve));

function gathering(mostTogether: number, mostWaiting: number) {
  const calls: { ids: number[]; end: () => void }[] = [];
  const add = createGathering<Item>({ mostTogether, mostWaiting }, (items) => {
    return new Promise((end) => calls.push({ ids: items.map(({ id }) => id), end }));
  });
  return { add, calls, asked: () => calls.map(({ ids }) => ids) };
}

describe('gathering', () => {
  test('what is asked in one turn goes together, and nothing goes before the turn is over', async () => {
    const { add, asked } = gathering(10, 10);
    add('lane', item(1));
    await Promise.resolve();
    add('lane', item(2));
    expect(asked()).toEqual([]);
    await turn();
    expect(asked()).toEqual([[1, 2]]);
  });

  test('what comes while a call is under way goes with the next; other lanes do not wait for it', async () => {
    const { add, calls, asked } = gathering(10, 10);
    add('lane', item(1));
    await turn();
    for (const id of [2, 3]) add('lane', item(id));
    add('other', item(4));
    await turn();
    expect(asked()).toEqual([[1], [4]]);
    calls[0]?.end();
    await turn();
    expect(asked()).toEqual([[1], [4], [2, 3]]);
    calls[2]?.end();
    await turn();
    add('lane', item(5));
    await turn();
    expect(asked()).toEqual([[1], [4], [2, 3], [5]]);
  });

  test('no call has more than its bound, and more than can wait are refused at once', async () => {
    const { add, calls, asked } = gathering(2, 3);
    for (const id of [1, 2, 3, 4]) add('lane', item(id));
    expect(refused.map(String)).toEqual(['StoreUnavailable: Redis: too many calls are waiting']);
    await turn();
    calls[0]?.end();
    await turn();
    expect(asked()).toEqual([[1, 2], [3]]);
  });
});
