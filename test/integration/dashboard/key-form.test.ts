import { beforeAll, describe, expect, it } from 'vitest';
import type { CreatedKeyView, KeyView } from '#contract/keys.ts';
import { MAX_AMOUNT_NANO_USD } from '#core/money.ts';
import { openProcessReports } from '#database/process-reports/process-reports.ts';
import { PATIENT } from '../../fixtures/patience.ts';
import { configurationWith, reportedModel, reportWith } from '../../fixtures/process-report.ts';
import { SILENT } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const LIMITS = { requestsPerMinute: 100, tokensPerMinute: 50_000, dailyBudgetNanoUsd: 2_500_000_000n };
const SIMPLE = { name: 'Backend', scopes: ['chat'] };

const dashboard = opened(startDashboard);
let path: string;
let owner: Browser;

beforeAll(async () => {
  const organizationId = await dashboard.addOrganization('Acme', LIMITS);
  path = `/api/organizations/${organizationId}/keys`;
  owner = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'owner'] }));
});

const create = (body: object) => owner.send<CreatedKeyView>('POST', path, body);
const edit = (id: string, body: object) => owner.send<KeyView>('PATCH', `${path}/${id}`, body);

async function created(body: object): Promise<KeyView> {
  const reply = await create(body);
  expect(reply.status, reply.text).toBe(200);
  return reply.body.key;
}

describe('the form of a key', () => {
  const WHOLE = (max: number) => `A whole number from 1 to ${max}.`;
  it.each<[field: string, value: unknown, message?: string]>([
    ['name', ''],
    ['name', '   '],
    ['name', 'x'.repeat(201), 'At most 200 characters.'],
    ['name', 'a\nb', 'One of these characters is invisible. Type it again.'],
    ['name', 'a\0b'],
    ['name', '\ud800'],
    ['name', 5],
    ['scopes', []],
    ['scopes', ['chat', 'admin'], 'A key can have chat and usage:read.'],
    ['scopes', 'chat'],
    ['models', []],
    ['models', ['has space']],
    ['models', Array.from({ length: 201 }, (_, i) => `m${i}`), 'At most 200 models.'],
    ['ipRanges', []],
    ['ipRanges', ['10.0.0.0/33'], '“10.0.0.0/33” is neither an address nor a range like 10.0.0.0/8.'],
    ['ipRanges', ['example.com']],
    ['ipRanges', ['::ffff:10.0.0.0/40']],
    ['ipRanges', ['fe80::1%eth0']],
    ['ipRanges', Array.from({ length: 201 }, () => '10.0.0.1')],
    ['expiresAtMs', Date.now() - 1, 'This is in the past.'],
    ['expiresAtMs', 1.5],
    ['expiresAtMs', 1e300],
    ['requestsPerMinute', 0, WHOLE(1_000_000_000)],
    ['requestsPerMinute', 1.5],
    ['requestsPerMinute', '5'],
    ['requestsPerMinute', 101, "Above the organization's limit of 100 requests per minute."],
    ['tokensPerMinute', 50_001, "Above the organization's limit of 50000 tokens per minute."],
    ['tokensPerMinute', Number.MAX_SAFE_INTEGER, WHOLE(1_000_000_000_000)],
    ['dailyBudgetNanoUsd', '2500000001', "Above the organization's limit of 2.5 USD a day."],
    ['dailyBudgetNanoUsd', '-1'],
    ['dailyBudgetNanoUsd', '1.5'],
    ['dailyBudgetNanoUsd', ''],
    ['dailyBudgetNanoUsd', String(MAX_AMOUNT_NANO_USD + 1n)],
    ['dailyBudgetNanoUsd', '9'.repeat(60_000)],
    ['dailyBudgetNanoUsd', 5],
    ['note', ''],
    ['note', 'a\nb'],
    ['note', 'a\u202eb'],
    ['note', 'x'.repeat(501), 'At most 500 characters.'],
    ['monthlyBudgetNanoUsd', '-1'],
    ['monthlyBudgetNanoUsd', null],
    ['lifetimeBudgetNanoUsd', String(MAX_AMOUNT_NANO_USD + 1n)],
  ])('refuses %s %j with a message for the field', async (field, value, message) => {
    const { status, body } = await create({ ...SIMPLE, [field]: value });
    expect([status, body.problem]).toEqual([400, 'invalid']);
    expect(body.fields).toEqual({ [field]: message ?? expect.any(String) });
    expect(body).not.toHaveProperty('secret');
  });

  it.each([['name'], ['scopes']])('requires %s', async (field) => {
    const { body } = await create({ ...SIMPLE, [field]: undefined });
    expect(Object.keys(body.fields ?? {})).toEqual([field]);
  });

  it('treats lists as sets', async () => {
    const key = await created({ ...SIMPLE, scopes: ['usage:read', 'chat'], models: ['b', 'a', 'b'] });
    expect([key.scopes, key.models]).toEqual([
      ['chat', 'usage:read'],
      ['b', 'a'],
    ]);
  });

  it('accepts the exact limits of the organization', async () => {
    const { dailyBudgetNanoUsd, ...rest } = LIMITS;
    const whole = { ...rest, dailyBudgetNanoUsd: String(dailyBudgetNanoUsd) };
    expect(await created({ ...SIMPLE, ...whole })).toMatchObject(whole);
  });
});

/** Must be last, because it reports the models. Earlier tests need them to be unknown. */
describe('the models of a key', () => {
  it('are those that gateway processes report, including disabled ones, and those that it has already', async () => {
    const { id } = await created({ ...SIMPLE, models: ['gone'] });
    const reports = openProcessReports(dashboard.databaseUrl, SILENT, PATIENT);
    const process = { id: crypto.randomUUID(), host: 'h', worker: 0, pid: 1, startedAtMs: 1 };
    const models = [reportedModel({ id: 'known' }), reportedModel({ id: 'disabled', disabled: true })];
    await reports.write(process, reportWith(), configurationWith({ models }));
    await reports.close();
    const unknown = await create({ ...SIMPLE, models: ['known', 'unknown'] });
    expect(unknown.body.fields).toEqual({ models: 'There is no model “unknown”.' });
    expect((await created({ ...SIMPLE, models: ['known', 'disabled'] })).models).toEqual(['known', 'disabled']);
    expect((await edit(id, { models: ['gone', 'known'] })).body.models).toEqual(['gone', 'known']);
    expect((await edit(id, { models: ['gone', 'lost'] })).body.fields).toHaveProperty('models');
    expect((await edit(id, { models: null })).body).not.toHaveProperty('models');
    expect((await edit(id, { models: ['gone'] })).body.fields).toHaveProperty('models');
  });
});
