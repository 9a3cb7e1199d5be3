import { request } from 'node:http';
import { expect, test } from 'vitest';
import { gatewayClient, MESSAGES } from '../../harness/gateway-client.ts';
import { httpClient } from '../../harness/http-client.ts';
import { cpuMicros } from '../../harness/process-cpu.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer } from '../../provider/acts.ts';

const ANSWER_BYTES = 20 * 1024 * 1024;
const AT_ONCE = 10;
const BODY = JSON.stringify({ model: 'large', messages: MESSAGES });

const gateway = withGateway({
  config: { models: { large: {}, small: {} } },
});

const keyed = (key: string) => ({ authorization: `Bearer ${key}`, 'idempotency-key': 'one' });

/** Requests a replay and disconnects at the first byte of its body. */
function cutOne(key: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${gateway.stack.origin}/v1/chat/completions`, {
      method: 'POST',
      agent: false,
      headers: keyed(key),
    });
    outgoing.on('response', (response) => {
      response.on('error', () => undefined);
      response.once('data', () => {
        response.destroy();
        if (response.headers['idempotent-replayed'] === 'true') resolve();
        else reject(new Error(`${response.statusCode}, and no replay`));
      });
    });
    outgoing.on('error', reject);
    outgoing.end(BODY);
  });
}

async function cut(key: string, replays: number): Promise<void> {
  for (let done = 0; done < replays; done += AT_ONCE)
    await Promise.all(Array.from({ length: AT_ONCE }, () => cutOne(key)));
}

const cpuMs = (): number => (cpuMicros({ gateway: [gateway.stack.gateway.pid] }).gateway ?? 0) / 1000;

test('100 replays of a large response that are cut after the first byte take less than a second of CPU, and the next is complete', async () => {
  const usage = { prompt_tokens: 10, completion_tokens: 5 };
  gateway.provider.script('large', jsonAnswer({ text: 'x'.repeat(ANSWER_BYTES), usage }));
  const { key } = await gateway.stack.operator.customer();
  const client = httpClient(gateway.stack.origin);
  const ask = () => client.send({ method: 'POST', path: '/v1/chat/completions', headers: keyed(key), body: BODY });
  const first = await ask();
  await cut(key, 20);
  const before = cpuMs();
  await cut(key, 100);
  // This response comes after the gateway has noticed the last disconnects.
  const other = gatewayClient(gateway.stack.origin, (await gateway.stack.operator.customer()).key);
  expect((await other.chat({ model: 'small' })).status).toBe(200);
  expect(cpuMs() - before).toBeLessThan(1_000);
  expect((await ask()).body.equals(first.body)).toBe(true);
  client.close();
  other.close();
});
