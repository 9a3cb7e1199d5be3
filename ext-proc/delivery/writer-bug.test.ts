import { expect, test } from 'vitest';
import type { DoorStream } from '../doors/door.ts';
import { RequestAtDoor } from '../doors/request-at-door.ts';
import { ANSWERS, responsesRequest } from './at-door.fixture.ts';
import { client, deliverTo, openDelivery } from './client.fixture.ts';

const { egress, delivery } = await openDelivery();
const [answer] = ANSWERS.filter(({ api }) => api === 'chat');

type Method = 'chunk' | 'content' | 'ended' | 'failed';

/** A request at the door, whose stream has a bug at this call of a method. */
async function requestWithBug(method: Method, at: number) {
  const { atDoor, ...admitted } = await responsesRequest('chat', {}, { stream: true });
  if (atDoor === undefined) throw new Error('the request is at a door');
  const { door } = atDoor;
  let calls = 0;
  const stream = (names: Parameters<typeof door.stream>[0]): DoorStream => {
    const right = door.stream(names);
    const broken = (...args: unknown[]) => {
      if (calls++ === at) throw new Error('a bug');
      return (right[method] as (...given: unknown[]) => string).call(right, ...args);
    };
    return new Proxy(right, {
      get: (target, name) => {
        const value: unknown = name === method ? broken : Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  };
  const buggy = new RequestAtDoor(
    { ...door, stream },
    { ...atDoor, mayPass: false },
    { bytes: Buffer.alloc(0), fields: [] },
  );
  return { ...admitted, atDoor: buggy };
}

test.each<[Method, number]>([
  ['chunk', 0],
  ['chunk', 1],
  ['chunk', 3],
  ['ended', 0],
])('a bug in writing a stream (%s, call %i) does not make the response free', async (method, at) => {
  egress.respondWith((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.end(answer?.stream);
  });
  const right = await deliverTo(delivery, client(), await responsesRequest('chat', {}, { stream: true }));
  const to = client();
  const charges: unknown[] = [];
  const ended = deliverTo(delivery, to, await requestWithBug(method, at), async (produced) => {
    charges.push(produced);
    return undefined;
  });
  await expect(ended).rejects.toThrow('a bug');
  expect(charges).toMatchObject([{ usage: right.charges[0]?.usage, finishReason: 'error' }]);
  expect(to.text()).toContain('response.failed');
});
