import { connect as connectHttp2 } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { gatewayClient, outcome } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';

/**
 * One organization sends bodies that take long to validate, while requests of another one are
 * served.
 */
const ROUNDS = 6;
const BODIES = 8;
const EVERY_MS = 50;
/**
 * Growth of the other organization's latency. Eight such bodies delayed everybody by 5,587 ms when
 * each was validated in one step.
 */
const MOST_GROWTH_MS = 500;

const gateway = withGateway({
  config: { models: { a: {} } },
});

const SLOW_BODY = Buffer.from(
  `{"model":"a","messages":[{"role":"user","content":"hi","x":{${'"\\u006b":0,'.repeat(240_000)}"k":0}}]}`,
);

/** Uploads all bodies on one connection, and sends the last bytes of all of them in one packet. */
async function sendTogether(key: string): Promise<string[]> {
  const session = connectHttp2(gateway.stack.origin);
  const uploads = Array.from({ length: BODIES }, () =>
    session.request({ ':method': 'POST', ':path': '/v1/chat/completions', authorization: `Bearer ${key}` }),
  );
  const statuses = uploads.map(
    (upload) =>
      new Promise<string>((resolve) => {
        upload.on('response', (headers) => resolve(String(headers[':status'])));
        upload.on('error', (error) => resolve(error.message));
        upload.resume();
      }),
  );
  await Promise.all(
    uploads.map((upload) => new Promise((resolve) => upload.write(SLOW_BODY.subarray(0, -1), resolve))),
  );
  // The HTTP/2 windows must be open again, or the last bytes are not sent together.
  await sleep(100);
  for (const upload of uploads) upload.end(SLOW_BODY.subarray(-1));
  const outcomes = await Promise.all(statuses);
  session.destroy();
  return outcomes;
}

/**
 * Sends requests of 1 KB at a steady rate until `work` is over; returns their outcomes and their
 * 95th percentile of latency. The slowest 5 % may be late because of other work on the machine;
 * eight bodies validated in one step delayed half of all requests by seconds.
 */
async function servedDuring(key: string, work: Promise<unknown>) {
  const client = gatewayClient(gateway.stack.origin, key);
  const [latenciesMs, outcomes]: [number[], Set<string>] = [[], new Set()];
  const asking: Promise<void>[] = [];
  const ask = async () => {
    const sentAtMs = performance.now();
    outcomes.add(
      outcome(await client.chat({ model: 'a', messages: [{ role: 'user', content: 'Hello '.repeat(150) }] })),
    );
    latenciesMs.push(performance.now() - sentAtMs);
  };
  let isOver = false;
  void work.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    asking.push(ask());
    await sleep(EVERY_MS);
  }
  await Promise.all(asking);
  client.close();
  return {
    outcomes: [...outcomes],
    p95Ms: latenciesMs.sort((a, b) => a - b)[Math.floor(latenciesMs.length * 0.95)] ?? 0,
  };
}

test('bodies of escaped keys whose last bytes arrive together do not delay other organizations', async () => {
  const [attacker, other] = [
    await gateway.stack.operator.customer({ credit: '0' }),
    await gateway.stack.operator.customer(),
  ];
  const before = await servedDuring(other.key, sleep(3000));
  const attack = async () => {
    const statuses: string[] = [];
    for (let round = 0; round < ROUNDS; round++) statuses.push(...(await sendTogether(attacker.key)));
    return statuses;
  };
  const attacking = attack();
  const during = await servedDuring(other.key, attacking);
  expect(await attacking).toEqual(Array(ROUNDS * BODIES).fill('402'));
  expect([before.outcomes, during.outcomes]).toEqual([['200'], ['200']]);
  expect(during.p95Ms - before.p95Ms).toBeLessThan(MOST_GROWTH_MS);
});
