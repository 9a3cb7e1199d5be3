import { expect, test } from 'vitest';
import { admittedRequest, provider } from '../admitted-request.fixture.ts';
import { client, deliverTo, openDelivery } from '../client.fixture.ts';
import { COMPLETION, chunk, DONE, sendJson, sendStream } from '../egress.fixture.ts';

const { egress, another } = await openDelivery();

const servers = { ...provider('alpha'), endpoints: [provider('alpha').baseUrl] };
const kept = () => egress.asked.map(({ headers }) => headers['x-gw-keep-body']);

/** A request whose body for the provider has this size. */
function sized(bytes: number, own = servers) {
  const admitted = admittedRequest({ providers: [own], stream: true });
  return { ...admitted, chat: { ...admitted.chat, encodeFor: () => [Buffer.alloc(bytes, 'x')] } };
}

test.each([
  ['of one server', { ...provider('alpha'), endpoints: undefined }, 200_000, [undefined, undefined]],
  ['of several', servers, 200_000, ['true', 'true']],
  ['and a body that Envoy keeps unasked', servers, 16 * 1024, [undefined, undefined]],
  ['and a body that is large', servers, 2 ** 24, [undefined, 'true']],
  ['and a body that is too large', servers, 2 ** 24 + 1, [undefined, undefined]],
] as const)('Envoy is asked to keep a body for other endpoints: a provider %s', async (_, own, bytes, expected) => {
  egress.respondWith(sendJson({}, 500), sendJson(COMPLETION));
  await deliverTo(another(), client(), sized(bytes, own as typeof servers));
  expect(kept()).toEqual(expected);
});

test('Envoy keeps only as much as there is memory for, until the response ends', async () => {
  const delivery = another({ keptBodiesBytes: 400_000 });
  const gate = Promise.withResolvers<void>();
  const content = chunk({ content: 'x' });
  const slow = sendStream([content], (response) => gate.promise.then(() => response.end(DONE)));
  const ended = sendStream([content, chunk({}, 'stop'), DONE]);
  egress.respondWith(slow, ended);
  const first = deliverTo(delivery, client(), sized(150_000));
  await expect.poll(() => egress.asked.length).toBe(1);
  await deliverTo(delivery, client(), sized(150_000));
  gate.resolve();
  await first;
  await deliverTo(delivery, client(), sized(150_000));
  expect(kept()).toEqual(['true', undefined, 'true']);
});
