import pg from 'pg';
import pino from 'pino';
import { expect, test } from 'vitest';
import { DAY_MS, utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { NO_USAGE } from '#core/pricing.ts';
import type { UnchargedAttemptRow } from '#database/costs/provider-attempts.ts';
import { dropOldLog } from '#database/request-log/request-log-partitions.ts';
import { openRequestLog } from '#database/request-log/request-log-writer.ts';
import { openRequestLogs } from '#ext-proc/requests/log/open-request-logs.ts';
import { createMetrics } from '#ext-proc/telemetry/metrics.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { attemptWith } from '../fixtures/provider-attempt.ts';
import { addCustomer, createDatabase, openStore, SILENT, settlementOf, sql } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';

const url = await createDatabase();
const store = opened(async () => openRequestLog(url, SILENT, PATIENT));

const rowsOf = (organizationId: string) =>
  sql(
    url,
    `select * from provider_attempts where organization_id = '${organizationId}' order by generation_id, attempt`,
  );

test('an attempt is stored once, with all of its fields', async () => {
  const organizationId = newId('org', Date.now());
  const usage = { ...NO_USAGE, promptTokens: 30, completionTokens: 7, cachedTokens: 2, reasoningTokens: 1 };
  const whole = attemptWith({ organizationId, upstreamId: 'chat"\0cmpl-1', tokens: { usage, source: 'reported' } });
  const { tokens: _, ...unsent } = attemptWith({
    organizationId,
    generationId: whole.generationId,
    attempt: 2,
    result: 'connect_failed',
    reason: 'not_sent',
  });
  for (const batch of [[whole], [whole, unsent]]) expect(await store.writeAttempts(batch)).toBe(0);
  const row = {
    generation_id: whole.generationId,
    attempt: 1,
    organization_id: organizationId,
    key_id: 'key-1',
    model: 'gpt-5-mini',
    provider: 'openai',
    provider_model: 'gpt-5-mini-2026',
    upstream_id: 'chat"cmpl-1',
    asked_at: new Date(whole.askedAtMs),
    result: 'first_byte_timeout',
    reason: 'timeout',
    token_source: 'reported',
    prompt_tokens: '30',
    completion_tokens: '7',
    cached_tokens: '2',
    reasoning_tokens: '1',
  };
  const nothing = {
    token_source: null,
    prompt_tokens: '0',
    completion_tokens: '0',
    cached_tokens: '0',
    reasoning_tokens: '0',
  };
  expect(await rowsOf(organizationId)).toEqual([
    row,
    {
      ...row,
      attempt: 2,
      upstream_id: null,
      asked_at: new Date(unsent.askedAtMs),
      result: 'connect_failed',
      reason: 'not_sent',
      ...nothing,
    },
  ]);
});

test('a loss is booked once with its attempt, and added to that of an earlier attempt', async () => {
  const organizationId = newId('org', Date.now());
  const loss = { reason: 'timeout', amountNanoUsd: 70n } as const;
  const first = attemptWith({ organizationId, loss });
  const second = { ...first, attempt: 2, loss: { ...loss, amountNanoUsd: 5n } };
  const large = attemptWith({ organizationId, loss: { reason: 'response_too_large', amountNanoUsd: 1n } });
  for (const batch of [
    [first, large],
    [first, second],
    [second, large],
  ])
    await store.writeAttempts(batch);
  const lost = `select generation_id, reason, amount_nano_usd::integer as amount, model, provider
    from losses where organization_id = '${organizationId}' order by generation_id`;
  const row = {
    generation_id: first.generationId,
    reason: 'timeout',
    amount: 75,
    model: 'gpt-5-mini',
    provider: 'openai',
  };
  const tooLarge = { ...row, generation_id: large.generationId, reason: 'response_too_large', amount: 1 };
  expect(await sql(url, lost)).toEqual([row, tooLarge].sort((a, b) => (a.generation_id < b.generation_id ? -1 : 1)));
});

test('provider calls are generations and attempts together, each once if it was charged after all', async () => {
  const database = await openStore(url);
  const customer = await addCustomer(database);
  const { organizationId, keyId } = customer;
  const settled = settlementOf(customer, { providerModel: 'gpt-5-mini-2026', upstreamId: 'up-1' });
  const { generationId } = settled;
  await database.ledger.charge(settled);
  await database.close();
  const at = (changes: Partial<UnchargedAttemptRow>) => attemptWith({ organizationId, keyId, ...changes });
  await store.writeAttempts([
    at({ generationId, attempt: 1 }),
    at({ generationId, attempt: 2, result: 'ok', reason: 'not_charged' }),
    at({ result: 'crash', reason: 'crash' }),
  ]);
  const calls = await sql(
    url,
    `select attempt, provider_model, upstream_id, reason, token_source, prompt_tokens::integer as prompt
     from provider_calls where organization_id = '${organizationId}' order by generation_id, attempt nulls first`,
  );
  const call = {
    attempt: 1,
    provider_model: 'gpt-5-mini-2026',
    upstream_id: null,
    token_source: 'counted',
    prompt: 30,
  };
  expect(calls).toEqual([
    { ...call, attempt: null, upstream_id: 'up-1', reason: null, token_source: 'reported' },
    { ...call, reason: 'timeout' },
    { ...call, reason: 'crash' },
  ]);
});

test('attempts are dropped by days with the request log, including those outside of partitions', async () => {
  const organizationId = newId('org', Date.now());
  const pool = new pg.Pool({ connectionString: url });
  const nowMs = utcDay(Date.now()) * DAY_MS + DAY_MS / 2;
  const at = (days: number) => attemptWith({ organizationId, askedAtMs: nowMs - days * DAY_MS });
  await pool.query("select make_day('provider_attempts', $1)", [new Date(nowMs - 41 * DAY_MS)]);
  const kept = [at(40), at(39)];
  await store.writeAttempts([at(42), at(41), ...kept]);
  await dropOldLog(pool, nowMs, 40 * DAY_MS, SILENT);
  expect((await rowsOf(organizationId)).map(({ generation_id }) => generation_id)).toEqual(
    kept.map(({ generationId }) => generationId),
  );
  await pool.end();
});

test('attempts that are recorded while their table is locked are written later, and counted at once', async () => {
  const organizationId = newId('org', Date.now());
  const metrics = createMetrics();
  const { attempts, requestLog } = openRequestLogs({
    workerIndex: 0,
    initial: { workers: 1 },
    databaseUrl: url,
    metrics,
    log: pino({ level: 'silent' }),
  });
  const session = new pg.Client({ connectionString: url });
  await session.connect();
  await session.query('begin; lock table provider_attempts in access exclusive mode');
  for (const reason of ['timeout', 'client_left', 'timeout'] as const)
    attempts.record(attemptWith({ organizationId, reason }));
  const tokens = await metrics.registry.getSingleMetric('gateway_uncharged_provider_tokens_total')?.get();
  const byReason = Object.fromEntries(tokens?.values.map(({ labels, value }) => [labels.reason, value]) ?? []);
  expect(byReason).toMatchObject({ timeout: 60, client_left: 30, crash: 0 });
  await session.end();
  await Promise.all([attempts.close(30_000), requestLog.close(30_000)]);
  expect(await rowsOf(organizationId)).toHaveLength(3);
});
