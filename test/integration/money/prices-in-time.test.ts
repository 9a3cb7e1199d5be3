import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { jsonOf, outcome, settledGeneration, untilNothingHeld } from '../../harness/gateway-client.ts';
import type { TestConfig } from '../../harness/test-config.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer, slowly, streamAnswer } from '../../provider/acts.ts';

/** A provider's answer takes longer than the pause between requests, so some are charged later. */
const ANSWER_AFTER_MS = 1_000;
const PAUSE_MS = 100;
const USAGE = { prompt_tokens: 100, completion_tokens: 900 };

interface Pricing {
  readonly input: number;
  readonly changes: ReadonlyArray<{ readonly from: string; readonly input: number }>;
}

function configOf(baseUrl: string, changeMs: number): TestConfig {
  const from = {
    // The first table of the file is not the one in force.
    '2001-01-01': { input: 1, output: 1 },
    [new Date(changeMs).toISOString()]: { input: 3, output: 3 },
  };
  const model = { usd_per_million_tokens: { input: 9, output: 9, from } };
  return { providers: { fake: { base_url: baseUrl } }, models: { json: model, stream: model } };
}

const gateway = withGateway((provider) => ({ config: configOf(provider.baseUrl, Date.now() + 3_600_000) }));

test('requests are charged at the prices of their arrival, while the table changes under load', async () => {
  const { provider, stack } = gateway;
  provider.script('json', slowly(ANSWER_AFTER_MS, jsonAnswer({ usage: USAGE })));
  provider.script('stream', slowly(ANSWER_AFTER_MS, streamAnswer({ usage: USAGE })));
  const client = await gateway.openClient();
  const pricing = async (): Promise<Pricing> => {
    const { data } = jsonOf<{ data: ReadonlyArray<{ pricing: Pricing }> }>(await client.get('/v1/models'));
    return data[0]?.pricing ?? { input: 0, changes: [] };
  };
  expect(await pricing()).toMatchObject({ input: 1, changes: [{ input: 3 }] });

  // The change moves close by a reload, so that a slow start of the gateway does not pass it.
  const changeMs = Date.now() + 8_000;
  stack.writeConfig(configOf(provider.baseUrl, changeMs));
  await expect.poll(async () => (await pricing()).changes[0]?.from).toBe(new Date(changeMs).toISOString());

  const answers: ReturnType<typeof client.chat>[] = [];
  while (Date.now() < changeMs + 2 * ANSWER_AFTER_MS) {
    answers.push(client.chat({ model: 'json' }), client.chat({ model: 'stream', stream: true }));
    await sleep(PAUSE_MS);
  }
  const received = await Promise.all(answers);
  expect(new Set(received.map(outcome))).toEqual(new Set(['200']));
  const ids = received.map(({ headers }) => String(headers['x-generation-id']));
  const generations = await Promise.all(ids.map((id) => settledGeneration(client, id)));
  const wrong = generations.filter(({ created_at, total_cost }) => {
    const expected = Date.parse(String(created_at)) < changeMs ? 0.001 : 0.003;
    return total_cost !== expected;
  });
  expect(wrong).toEqual([]);
  const costs = new Set(generations.map(({ total_cost }) => total_cost));
  expect([...costs].sort()).toEqual([0.001, 0.003]);
  await untilNothingHeld(client);
  expect(await pricing()).toMatchObject({ input: 3, changes: [] });
  await stack.operator.verifyLedger();
});
