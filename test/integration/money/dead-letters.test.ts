import { expect, test } from 'vitest';
import { runCommandLine } from '#operator/command-line.ts';
import { sql } from '../../harness/database.ts';
import { errorOf, jsonOf, outcome } from '../../harness/gateway-client.ts';
import { withGateway } from '../../harness/with-gateway.ts';
import { jsonAnswer } from '../../provider/acts.ts';

const PRICES = { input: 100, output: 1_000 };
const gateway = withGateway({
  config: { models: { dear: { max_output_tokens: 1_000, usd_per_million_tokens: PRICES } } },
});

test('money of a charge that the ledger refused pays for no other request, until an operator decides', async () => {
  const { databaseUrl, env } = gateway.stack;
  const client = await gateway.openClient({ credit: '0.5' });
  gateway.provider.script('dear', jsonAnswer({ usage: { prompt_tokens: 10, completion_tokens: 400 } }));
  const ask = () => client.chat({ model: 'dear', max_tokens: 400 });
  const credits = async () => jsonOf<{ data: Record<string, number> }>(await client.get('/v1/credits')).data;
  const letters = () => sql<{ id: string }>(databaseUrl, 'select generation_id as id from dead_letters');

  await sql(databaseUrl, `alter table generations add constraint no_model check (model <> 'dear') not valid`);
  expect(outcome(await ask())).toBe('200');
  await expect.poll(letters).toHaveLength(1);
  await sql(databaseUrl, 'alter table generations drop constraint no_model');
  const refused = await ask();
  expect(outcome(refused)).toBe('402 insufficient_credits');
  expect(errorOf(refused).metadata).toMatchObject({ available_usd: 0.099 });
  expect(await credits()).toMatchObject({ balance: 0.5, held: 0.401, available: 0.099, total_usage: 0 });

  const [{ id } = { id: '' }] = await letters();
  const retry = ['ledger', 'dead-letters', 'retry', id];
  expect(await runCommandLine(retry, { ...env, DATABASE_URL: databaseUrl })).toMatchObject({ kind: 'done' });
  expect(await credits()).toMatchObject({ balance: 0.099, held: 0, available: 0.099, total_usage: 0.401 });
  await gateway.stack.operator.verifyLedger();
});
