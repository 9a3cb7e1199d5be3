import { expect, test } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import { errorOf, eventsOf, gatewayClient, jsonOf, outcome, settledGeneration } from '../../harness/gateway-client.ts';
import { metric } from '../../harness/metrics-page.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer, streamAnswer } from '../../provider/acts.ts';
import { createGate } from '../../provider/gate.ts';

const gateway = withGateway({
  config: {
    models: {
      // Only output has a price, so that a hold is exactly the output limit: 100 tokens at 1 USD
      // per million.
      exact: { usd_per_million_tokens: { input: 0, output: 1 } },
      plain: {},
    },
  },
});

const LIMIT = 100;
const HOLD_USD = 0.0001;

test.each([false, true])(
  '12 at once whose provider reports 50 times the hold: the holds are charged, the rest is a loss (stream: %s)',
  async (stream) => {
    const { organizationId, key } = await gateway.stack.operator.customer({ credit: '0.00035' });
    const client = gatewayClient(gateway.stack.origin, key);
    const lostUsd = () => metric(gateway.stack.metricsOrigin, 'gateway_losses_usd_total', { reason: 'over_hold' });
    const chargedUsd = () => metric(gateway.stack.metricsOrigin, 'gateway_charged_usd_total', { model: 'exact' });
    const lostBefore = await lostUsd();
    const chargedBefore = await chargedUsd();
    const gate = createGate();
    const usage = { prompt_tokens: 10, completion_tokens: 50 * LIMIT };
    gateway.provider.script('exact', gate.before(stream ? streamAnswer({ usage }) : jsonAnswer({ usage })));
    const body = {
      model: 'exact',
      max_tokens: LIMIT,
      stream,
      ...(stream ? { stream_options: { include_usage: true } } : {}),
    };
    const asked = Array.from({ length: 12 }, () => client.chat(body));
    await gate.waitFor(3);
    gate.open();
    const answers = await Promise.all(asked);
    const served = answers.filter(({ status }) => status === 200);
    expect(served).toHaveLength(3);
    expect(new Set(answers.map(outcome))).toEqual(new Set(['200', '402 insufficient_credits']));
    expect(await gateway.stack.operator.balance(organizationId)).toBe(0.00005);

    for (const answer of served) {
      const last = stream ? JSON.parse(eventsOf(answer).at(-2) ?? '') : jsonOf(answer);
      expect(last.usage).toMatchObject({ completion_tokens: 50 * LIMIT, cost: HOLD_USD });
      const generation = await settledGeneration(client, String(answer.headers['x-generation-id']));
      expect(generation).toMatchObject({ total_cost: HOLD_USD, tokens_completion: 50 * LIMIT });
    }
    expect(await lossesOf(organizationId)).toEqual(
      served
        .map(({ headers }) => ({ generation_id: headers['x-generation-id'], reason: 'over_hold', usd: 0.0049 }))
        .toSorted((a, b) => String(a.generation_id).localeCompare(String(b.generation_id))),
    );
    await expect.poll(async () => (await lostUsd()) - lostBefore).toBeCloseTo(3 * 0.0049, 9);
    await expect.poll(async () => (await chargedUsd()) - (chargedBefore || 0)).toBeCloseTo(3 * HOLD_USD, 9);
    await gateway.stack.operator.verifyLedger();
  },
);

test('a usage of 2.2 times the hold, with credit only for the hold: the balance ends at 0', async () => {
  const { organizationId, key } = await gateway.stack.operator.customer({ credit: '0' });
  const client = gatewayClient(gateway.stack.origin, key);
  const body = { model: 'plain', max_tokens: LIMIT, messages: [{ role: 'user', content: '\u{1d160}'.repeat(2000) }] };
  const holdUsd = Number(errorOf(await client.chat(body)).metadata.estimated_usd);
  await gateway.stack.operator.credit(organizationId, holdUsd.toFixed(9));
  const tokens = Math.round(2.2 * holdUsd * 1e6);
  gateway.provider.script('plain', jsonAnswer({ usage: { prompt_tokens: tokens - 10, completion_tokens: 10 } }));
  const answer = await client.chat(body);
  expect(jsonOf<{ usage: { cost: number } }>(answer).usage.cost).toBe(holdUsd);
  expect(await gateway.stack.operator.balance(organizationId)).toBe(0);
  expect(await lossesOf(organizationId)).toMatchObject([
    { reason: 'over_hold', usd: expect.closeTo(1.2 * holdUsd, 5) },
  ]);
});

/** The losses that `ledger losses --json` prints, ordered by generation. */
async function lossesOf(organizationId: string) {
  const since = new Date(Date.now() - 3_600_000).toISOString();
  const result = await runCommandLine(['ledger', 'losses', '--since', since], {
    DATABASE_URL: gateway.stack.databaseUrl,
  });
  if (result.kind !== 'done') throw new Error(result.message);
  return (result.json as Record<string, string | number>[])
    .filter(({ organization_id }) => organization_id === organizationId)
    .map(({ generation_id, reason, usd }) => ({ generation_id, reason, usd }))
    .toSorted((a, b) => String(a.generation_id).localeCompare(String(b.generation_id)));
}
