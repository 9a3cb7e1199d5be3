import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { NO_USAGE } from '#core/pricing.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import { type OpenRequestLog, openRequestLog } from '#database/request-log/request-log-writer.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { PATIENT } from '../fixtures/patience.ts';
import { attemptWith } from '../fixtures/provider-attempt.ts';
import { addCustomer, type Customer, SILENT, settlementOf } from '../harness/database.ts';
import { withStore } from '../harness/with-store.ts';

/** `costs report` and `costs reconcile`, on a database with generations, attempts and losses. */
let folder = '';
const db = withStore();
let log: OpenRequestLog;
let other: Customer;
/** The middle of yesterday. */
const NOON = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS / 2;
const date = (ms: number) => new Date(ms).toISOString().slice(0, 10);
const HEADER = 'date,model,input_tokens,cached_tokens,output_tokens,cost';

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gw-costs-'));
  log = openRequestLog(db.url, SILENT, PATIENT);
  other = await addCustomer(db.store);
});

afterAll(async () => {
  await log?.close();
  await rm(folder, { recursive: true });
});

async function charge(atMs: number, changes: Partial<Settlement> = {}, by = db.customer): Promise<void> {
  const generationId = newId('gen', atMs);
  const providerModel = 'up-mini';
  await db.store.ledger.charge(settlementOf(by, { generationId, createdAtMs: atMs, providerModel, ...changes }));
}

const run = (...args: string[]) =>
  runCommandLine(args, { DATABASE_URL: db.url, GATEWAY_CONFIG: join(folder, 'gateway.yaml') });
async function done(...args: string[]) {
  const result = await run(...args);
  if (result.kind !== 'done') throw new Error(`${args.join(' ')}: ${result.message}`);
  return result;
}

describe('costs report', () => {
  const since = date(NOON - 40 * DAY_MS);
  const at = NOON - 40 * DAY_MS;
  beforeAll(async () => {
    await charge(at, { costNanoUsd: 300n, model: 'large', provider: 'b' });
    await charge(at, { costNanoUsd: 100n });
    await charge(at, { costNanoUsd: 100n }, other);
    const loss = { reason: 'timeout', amountNanoUsd: 40n } as const;
    const { organizationId } = other;
    await log.writeAttempts([attemptWith({ askedAtMs: at, organizationId, model: 'lost', provider: 'b', loss })]);
    // A charge of the next day.
    await charge(at + DAY_MS, { costNanoUsd: 7n });
  });
  const period = ['--since', since, '--until', date(at + DAY_MS)];
  const row = (requests: number, revenue: number, losses = 0) => ({
    requests,
    revenue,
    cost: null,
    margin: null,
    losses,
    list: revenue,
  });

  it.each([
    [
      'model',
      () => [
        { model: 'large', ...row(1, 3e-7) },
        { model: 'gpt-5-mini', ...row(2, 2e-7) },
        { model: 'lost', ...row(0, 0, 4e-8) },
      ],
    ],
    [
      'provider',
      () => [
        { provider: 'b', ...row(1, 3e-7, 4e-8) },
        { provider: 'openai', ...row(2, 2e-7) },
      ],
    ],
    [
      'organization',
      () => [
        { organization_id: db.customer.organizationId, ...row(2, 4e-7) },
        { organization_id: other.organizationId, ...row(1, 1e-7, 4e-8) },
      ],
    ],
  ])('sums by %s, from the start of the period to before its end', async (by, expected) => {
    expect((await done('costs', 'report', '--by', by, ...period)).json).toEqual(expected());
  });

  it('prints a table, or a text if there is nothing', async () => {
    const { text } = await done('costs', 'report', '--by', 'provider', ...period);
    expect(text.split('\n').map((line) => line.split(/ +/))).toEqual([
      ['PROVIDER', 'REQUESTS', 'REVENUE', 'COST', 'MARGIN', 'LOSSES', 'LIST'],
      ['b', '1', '0.0000003', '-', '-', '0.00000004', '0.0000003'],
      ['openai', '2', '0.0000002', '-', '-', '0', '0.0000002'],
    ]);
    const none = await done('costs', 'report', '--by', 'model', '--since', '1900-01-01', '--until', '2000-01-01');
    expect(none).toMatchObject({ json: [], text: 'Nothing was charged or lost.' });
    expect(await run('costs', 'report')).toMatchObject({ kind: 'usage' });
    const backwards = ['--since', '2026-02-01', '--until', '2026-01-01'];
    expect(await run('costs', 'report', '--by', 'model', ...backwards)).toMatchObject({ kind: 'usage' });
    expect(await run('costs', 'report', '--by', 'key')).toMatchObject({ kind: 'usage' });
  });
});

describe('costs reconcile', () => {
  const usage = { ...NO_USAGE, promptTokens: 1000, completionTokens: 500, cachedTokens: 100 };
  const lost = { ...NO_USAGE, promptTokens: 300 };
  beforeAll(async () => {
    await charge(NOON, { usage });
    await charge(NOON, { usage, provider: 'elsewhere' });
    await charge(NOON, { usage, providerModel: 'not-in-the-file' });
    const tokens = { usage: lost, source: 'counted' } as const;
    const attempt = { askedAtMs: NOON, providerModel: 'up-mini', tokens };
    await log.writeAttempts([
      attemptWith(attempt),
      attemptWith({ ...attempt, result: 'client_left', reason: 'client_left' }),
    ]);
    // The request began on the day before, and the provider was called after midnight.
    const midnight = NOON + DAY_MS / 2;
    await log.writeAttempts([
      attemptWith({ ...attempt, askedAtMs: midnight, generationId: newId('gen', midnight - 60_000) }),
    ]);
  });

  async function reconcile(rows: readonly string[], ...flags: string[]) {
    const path = join(folder, 'bill.csv');
    await writeFile(path, [HEADER, ...rows].join('\n'));
    return run('costs', 'reconcile', path, ...flags);
  }
  const today = date(NOON);
  const uncharged = {
    client_left: { calls: 1, input_tokens: 300, cached_tokens: 0, output_tokens: 0 },
    timeout: { calls: 1, input_tokens: 300, cached_tokens: 0, output_tokens: 0 },
  };

  it("explains a provider's counts with charged and uncharged calls, by the provider's days", async () => {
    expect(await reconcile([`${today},up-mini,2600,200,1000,0.01`])).toMatchObject({
      kind: 'done',
      json: { ok: true, differences: [], uncharged },
    });
    expect(await reconcile([`${today},up-mini,1600,100,500,`], '--provider', 'openai')).toMatchObject({ kind: 'done' });
    const next = await reconcile([`${date(NOON + DAY_MS)},up-mini,300,0,0,`]);
    expect(next).toMatchObject({ kind: 'done', json: { uncharged: { timeout: { calls: 1 } } } });
  });

  it('fails, and names each day and model that differ, with the uncharged calls', async () => {
    const result = await reconcile([`${today},up-mini,2700,200,1000,`, `${today},unknown,5,0,0,`]);
    const ours = { gateway: 2600, charged: 2000, counted: 600 };
    expect(result).toMatchObject({
      kind: 'refused',
      json: {
        ok: false,
        differences: [
          { date: today, model: 'unknown', differs: ['input_tokens'] },
          {
            date: today,
            model: 'up-mini',
            differs: ['input_tokens'],
            input_tokens: { provider: 2700, ...ours },
            uncharged,
          },
        ],
      },
    });
    expect(result.kind === 'refused' && result.message).toMatch(
      /up-mini +input_tokens +2700 +2600 +2000 +600 +.*timeout 300/,
    );
  });

  it('refuses an invalid file with the lines, and a missing one', async () => {
    expect(await reconcile([`${today},up-mini,x,0,0,`])).toMatchObject({
      kind: 'refused',
      message: expect.stringContaining('line 2: input_tokens'),
    });
    expect(await run('costs', 'reconcile', join(folder, 'none'))).toMatchObject({ kind: 'refused' });
    expect(await run('costs', 'reconcile')).toMatchObject({ kind: 'usage' });
  });

  it('refuses a provider that is neither configured nor was called', async () => {
    const nothing = [`${today},up-mini,0,0,0,`];
    const sizes = { context_window: 9000, max_output_tokens: 900, usd_per_million_tokens: { input: 1, output: 1 } };
    const models = { m: { ...sizes, targets: [{ provider: 'configured', model: 'up-mini' }] } };
    await writeFile(join(folder, 'gateway.yaml'), JSON.stringify({ models }));
    expect(await reconcile(nothing, '--provider', 'typo')).toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('provider typo. The providers are: configured.'),
    });
    expect(await reconcile(nothing, '--provider', 'configured')).toMatchObject({ kind: 'done' });
    expect(await reconcile(nothing, '--provider', 'elsewhere')).toMatchObject({ kind: 'refused' });
  });
});
