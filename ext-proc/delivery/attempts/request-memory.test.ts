import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { acceptedChat } from '#test/fixtures/chat-request.ts';
import { collectGarbage } from '#test/fixtures/collect-garbage.ts';
import { type BudgetRefusal, SharedBudget } from '../../fairness/shared-budget.ts';
import { type AdmittedRequestOptions, admittedRequest, provider } from '../admitted-request.fixture.ts';
import { client, deliverTo, openDelivery } from '../client.fixture.ts';
import { COMPLETION, chunk, DONE, HELLO, type ProviderHandler, STOP, sendJson, sendStream } from '../egress.fixture.ts';
import { RequestMemory } from './request-memory.ts';

const { egress, delivery } = await openDelivery();

const MIB = 1024 * 1024;
const BUDGET_BYTES = 16 * MIB;

const WORDS = [{ role: 'user', content: 'word '.repeat(20_000) }];

/** A request whose body is 4 MiB of words, in a budget of its own. */
async function requestOf(options: AdmittedRequestOptions) {
  const refused: BudgetRefusal[] = [];
  const budget = new SharedBudget(BUDGET_BYTES, (why) => refused.push(why));
  const reservation = budget.open('org-TEST');
  const stream = options.stream ?? false;
  const messages = [{ role: 'user', content: 'word '.repeat((4 * MIB) / 5) }];
  const read = () => {
    const bytes = Buffer.from(JSON.stringify({ model: 'public-model', stream, messages }));
    reservation.take(bytes.length);
    return { chat: acceptedChat(bytes), memory: new WeakRef(bytes.buffer), bodyBytes: bytes.length };
  };
  const { chat, memory, bodyBytes } = read();
  const to = client(reservation);
  return { budget, refused, reservation, to, bodyBytes, chat, memory, what: { ...admittedRequest(options), chat } };
}

async function isCollected(memory: WeakRef<ArrayBufferLike>): Promise<boolean> {
  for (let turn = 0; turn < 20; turn++) {
    await setImmediate();
    collectGarbage();
    if (memory.deref() === undefined) return true;
  }
  return false;
}

test('a body is freed once the first event is passed on, and its prompt is still counted', async () => {
  const { reservation, to, bodyBytes, memory, what } = await requestOf({ stream: true });
  const goOn = Promise.withResolvers<void>();
  egress.respondWith(async (response, asked) => {
    expect(asked.body.length).toBeGreaterThan(bodyBytes);
    Object.assign(asked, { body: '' });
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(chunk({ content: 'Hello' }));
    await goOn.promise;
    response.end(STOP + DONE);
  });
  const delivered = deliverTo(delivery, to, what);
  await expect.poll(() => to.written).toHaveLength(1);
  expect(await isCollected(memory)).toBe(true);
  expect(reservation.heldBytes).toBe(256 * 1024);
  goOn.resolve();
  const { charges } = await delivered;
  const words = (4 * MIB) / 5;
  const counted = charges[0]?.usage.promptTokens ?? 0;
  expect(charges[0]?.usageCounted).toBe(true);
  // A token a word, estimated as well.
  expect(Math.abs(counted - words)).toBeLessThan(words / 20);
});

test('a body is freed while its JSON response is charged', async () => {
  const { reservation, to, memory, what } = await requestOf({});
  egress.respondWith((response, asked) => {
    Object.assign(asked, { body: '' });
    return sendJson(COMPLETION)(response, asked);
  });
  let isFree = false;
  const { outcome } = await deliverTo(delivery, to, what, async () => {
    isFree = await isCollected(memory);
    return undefined;
  });
  expect([outcome.status, isFree, reservation.heldBytes]).toEqual([200, true, 256 * 1024]);
});

test.each([true, false])(
  'the memory of a long body is freed when its response has ended (stream: %s)',
  async (stream) => {
    const bytes = Buffer.from(JSON.stringify({ model: 'public-model', stream, messages: WORDS }));
    const reservation = new SharedBudget(BUDGET_BYTES).open('org-TEST');
    reservation.take(bytes.length);
    const chat = acceptedChat(bytes);
    egress.respondWith(stream ? sendStream([...HELLO, STOP, DONE]) : sendJson(COMPLETION));
    const what = { ...admittedRequest({ stream }), chat };
    const { outcome } = await deliverTo(delivery, client(reservation), what);
    expect([outcome.status, bytes.length]).toEqual([200, 0]);
  },
);

test.each<[string, (memory: RequestMemory) => void]>([
  ['is still being written', (memory) => memory.answered()],
  ['has no response', (memory) => memory.sent()],
  [
    'was sent to two targets, of which one counts its tokens later',
    (memory) => {
      memory.mayBeSent();
      memory.sent();
      memory.answered();
    },
  ],
])('a body that %s is left to the garbage collector', (_, happens) => {
  const bytes = Buffer.from(JSON.stringify({ model: 'm', messages: WORDS }));
  const chat = acceptedChat(bytes);
  const memory = new RequestMemory(chat, new SharedBudget(BUDGET_BYTES).open('org-TEST'));
  happens(memory);
  memory.ended();
  expect(bytes.length).toBeGreaterThan(100_000);
  expect(chat.promptText()).toEqual([WORDS[0]?.content]);
});

test.each([true, false])(
  'a body that only a retry would need is evicted for others, and then there is no retry (stream: %s)',
  async (stream) => {
    const providers = [provider('alpha'), provider('beta')];
    const { budget, refused, reservation, to, memory, what } = await requestOf({ stream, providers });
    const fail = Promise.withResolvers<void>();
    egress.respondWith(async (response, asked) => {
      Object.assign(asked, { body: '' });
      await fail.promise;
      response.writeHead(500).end();
    });
    const delivered = deliverTo(delivery, to, what);
    await expect.poll(() => egress.asked).toHaveLength(1);
    for (const other of ['org_b', 'org_c', 'org_d']) expect(budget.open(other).take(BUDGET_BYTES / 4)).toBe(true);
    expect(budget.open('org_e').take(1)).toBe(true);
    expect([reservation.heldBytes, refused]).toEqual([0, ['gave_way']]);
    expect(await isCollected(memory)).toBe(true);
    fail.resolve();
    expect((await delivered).outcome).toMatchObject({ status: 503, attempts: [{ provider: 'alpha' }] });
    expect(egress.asked).toHaveLength(1);
  },
);

test('a body is whole in each attempt, and no attempt is made beyond the share of its organization', async () => {
  const providers = [provider('alpha'), provider('beta')];
  const failing: ProviderHandler = (response) => response.writeHead(500).end();
  const { budget, reservation, to, bodyBytes, what } = await requestOf({
    stream: true,
    providers,
    retriesPerTarget: 1,
  });
  egress.respondWith(failing, failing, sendStream([...HELLO, STOP, DONE]));
  const { outcome } = await deliverTo(delivery, to, what);
  expect([outcome.attempts.map(({ result }) => result), reservation.heldBytes]).toEqual([
    ['status_500', 'status_500', 'ok'],
    256 * 1024,
  ]);
  expect(egress.asked.map(({ body }) => body.length > bodyBytes)).toEqual([true, true, true]);
  reservation.release();

  const again = await requestOf({ stream: true, providers, retriesPerTarget: 0 });
  egress.respondWith((response) => {
    for (const other of ['org-TEST', 'org_b', 'org_c'])
      expect(again.budget.open(other).take(BUDGET_BYTES / 4 - 4096)).toBe(true);
    return failing(response, egress.asked[0] as (typeof egress.asked)[number]);
  });
  expect((await deliverTo(delivery, again.to, again.what)).outcome.attempts).toHaveLength(1);
  expect(again.refused).toEqual(['share']);
  expect(budget.heldBytes).toBe(0);
});
