import { beforeAll, describe, expect, it } from 'vitest';
import type { MappingView, SystemView } from '#contract/operator.ts';
import type { OrganizationView } from '#contract/organization.ts';
import type { RequestDetail, RequestPage } from '#contract/request-log.ts';
import { newId } from '#core/ids.ts';
import { openProcessReports } from '#database/process-reports/process-reports.ts';
import { openRequestLog } from '#database/request-log/request-log-writer.ts';
import { PATIENT } from '../../fixtures/patience.ts';
import { COST, PRICES, USAGE } from '../../fixtures/priced-usage.ts';
import { configurationWith, holdsOf, reportedModel, reportWith } from '../../fixtures/process-report.ts';
import { attemptWith } from '../../fixtures/provider-attempt.ts';
import { rowWith } from '../../fixtures/request-log-row.ts';
import { addKey, BY, openStore, SILENT, settlementOf } from '../../harness/database.ts';
import { opened } from '../../harness/opened.ts';
import type { Browser } from './dashboard-browser.ts';
import { startDashboard } from './dashboard-server.ts';

const ABOVE = {
  inputPicoUsd: '2',
  cachedInputPicoUsd: '2',
  cacheWritePicoUsd: '2',
  cacheWrite1hPicoUsd: '2',
  outputPicoUsd: '4',
};

const MODEL = reportedModel({ above: [{ inputTokens: 500, prices: ABOVE }] });

describe('what the page reads', () => {
  const dashboard = opened(startDashboard);
  let member: Browser;
  let operator: Browser;
  let organizationId = '';
  const own = (path: string) => `/api/organizations/${organizationId}${path}`;

  beforeAll(async () => {
    organizationId = await dashboard.addOrganization('Acme', { requestsPerMinute: 60 });
    member = await dashboard.signedIn(await dashboard.addUser({ in: [organizationId, 'member'] }));
    operator = await dashboard.signedIn(await dashboard.addUser({ operator: true }));
  });

  it.each([
    ['/requests?statusClasses=3xx', 'statusClasses'],
    ['/requests?keys=key-1', 'keys'],
    ['/requests?streamed=perhaps', 'streamed'],
    ['/requests?metadata=team', 'metadata'],
    ['/requests?minCostNanoUsd=-1', 'minCostNanoUsd'],
    ['/requests?minDurationMs=1.5', 'minDurationMs'],
    [`/requests?${Array(51).fill('models=a').join('&')}`, 'models'],
    ['/explore?fromMs=0&toMs=1000000&by=colour', 'by'],
    ['/explore?fromMs=0&toMs=1000000&by=organization', 'by'],
    ['/explore?fromMs=0&toMs=1000&by=none', 'fromMs'],
    ['/explore?fromMs=0&toMs=1700000000000&by=none', 'fromMs'],
    ['/explore?fromMs=280000000000000&toMs=280000001000000&by=none', 'toMs'],
    ['/requests?before=log-1', 'before'],
    ['/requests?outcome=maybe', 'outcome'],
    ['/requests?fromMs=-1', 'fromMs'],
    ['/requests?fromMs=99999999999999999999', 'fromMs'],
    ['/requests?models=%00', 'models'],
    [`/requests?search=${'x'.repeat(201)}`, 'search'],
    ['/ledger?kind=gift', 'kind'],
    ['/ledger?before=0', 'before'],
    ['/explore?by=hour&fromMs=0&toMs=1', 'by'],
  ])('%s is refused for its %s', async (path, field) => {
    const { status, body } = await member.get(own(path));
    expect([status, body.problem, Object.keys(body.fields ?? {})]).toEqual([400, 'invalid', [field]]);
  });

  it.each([
    ['from=2026-02-30&to=2026-03-01&by=model', 'from'],
    ['from=2026-03-02&to=2026-03-01&by=model', 'from'],
    ['from=2025-03-01&to=2026-03-02&by=model', 'from'],
    ['from=2026-03-01&to=2026-03-01&by=model,provider', 'by'],
    ['from=2026-03-01&to=2026-03-01&by=key', 'by'],
  ])('costs of %s are refused for their %s', async (query, field) => {
    for (const table of ['costs', 'costs.csv']) {
      const { status, body } = await operator.get(`/api/${table}?${query}`);
      expect([status, body.problem, Object.keys(body.fields ?? {})]).toEqual([400, 'invalid', [field]]);
    }
  });

  it('an unknown field of a query is refused', async () => {
    const { status, body } = await member.get(own('/requests?colour=red'));
    expect([status, body.problem]).toEqual([400, 'invalid']);
    const others = await member.get(own(`/requests?organizations=${organizationId}`));
    expect([others.status, others.body.problem]).toEqual([400, 'invalid']);
  });

  it('a page of the request log begins where the one before ended', async () => {
    const { keyId } = await addKey(dashboard, organizationId);
    const log = openRequestLog(dashboard.databaseUrl, SILENT, PATIENT);
    const startMs = Date.now() - 60_000;
    const entries = Array.from({ length: 120 }, (_, i) =>
      rowWith({ arrivedAtMs: startMs + i, organizationId, keyId, requestId: crypto.randomUUID() }),
    );
    await log.write(entries);
    const minute = Math.floor(startMs / 60_000);
    const leftOut = { organizationId, keyId, minute, model: '', code: 'key_revoked', status: 401, requests: 4_321 };
    await log.writeOmitted([{ ...leftOut, lastAtMs: startMs, address: '192.0.2.1' }]);
    await log.close();
    const found: string[] = [];
    let before = '';
    for (const size of [50, 50, 20]) {
      const { body } = await member.get<RequestPage>(own(`/requests?keys=${keyId}&outcome=succeeded${before}`));
      expect(body.requests).toHaveLength(size);
      found.push(...body.requests.map(({ id }) => id));
      before = `&before=${body.next}`;
    }
    expect(found).toEqual(entries.map(({ id }) => id).reverse());
    const { body: failed } = await member.get<RequestPage>(own(`/requests?keys=${keyId}&outcome=failed`));
    expect(failed).toEqual({ requests: [], leftOut: 4_321 });
    const [entry] = entries;
    const search = await member.get<RequestPage>(own(`/requests?search=${entry?.requestId}`));
    expect(search.body.requests.map(({ id }) => id)).toEqual([entry?.id]);
    expect(search.body.requests[0]).not.toHaveProperty('organizationId');
    const everywhere = await operator.get<RequestPage>(`/api/requests?search=${entry?.requestId}`);
    expect(everywhere.body.requests).toEqual([
      { ...search.body.requests[0], organizationId, organizationName: 'Acme' },
    ]);
    expect((await member.get(own(`/requests/${entry?.id}`))).body).toMatchObject({
      address: '192.0.2.1',
      keyName: 'test',
    });
    expect((await member.get(own(`/requests/${newId('log', 1)}`))).status).toBe(404);
  });

  it('a charged request is shown with everything that its charge was computed from', async () => {
    const buyer = await dashboard.addOrganization('Buyer');
    const { keyId, hash } = await addKey(dashboard, buyer);
    const stores = await openStore(dashboard.databaseUrl);
    await stores.administration.credit(buyer, { amountNanoUsd: 1_000_000n }, { actor: 'test' });
    const entry = { serviceTier: 'priority', pricedTier: 'flex', pricedAboveTokens: 99 };
    const amounts = { usage: USAGE, prices: PRICES, costNanoUsd: COST, holdNanoUsd: 100_000n };
    const customer = { organizationId: buyer, keyId, hash };
    const settlement = settlementOf(customer, { ...entry, ...amounts, generationId: newId('gen', Date.now()) });
    await stores.ledger.charge(settlement);
    await stores.close();
    const log = openRequestLog(dashboard.databaseUrl, SILENT, PATIENT);
    const { generationId } = settlement;
    const shown = { organizationId: buyer, keyId, generationId, costNanoUsd: 100_000n };
    const charged = rowWith({ ...shown, requestId: crypto.randomUUID() });
    const replayed = rowWith({ ...shown, requestId: crypto.randomUUID(), costNanoUsd: undefined, replayed: true });
    await log.write([charged, replayed]);
    const failed = { organizationId: buyer, generationId: generationId ?? '' };
    await log.writeAttempts([
      attemptWith({ ...failed, attempt: 2, provider: 'other', result: 'status_503' }),
      attemptWith({ ...failed, attempt: 1 }),
    ]);
    await log.close();
    const pathOf = (id: string) => `/api/organizations/${buyer}/requests/${id}`;
    const detailOf = async (id: string) => (await operator.get<RequestDetail>(pathOf(id))).body;
    expect((await detailOf(charged.id)).charge).toEqual({
      ...entry,
      usage: USAGE,
      usageCounted: false,
      prices: Object.fromEntries(Object.entries(PRICES).map(([price, picoUsd]) => [price, String(picoUsd)])),
      costNanoUsd: '100000',
      holdNanoUsd: '100000',
    });
    expect((await detailOf(charged.id)).unchargedAttempts).toEqual([
      { provider: 'openai', providerModel: 'gpt-5-mini-2026', result: 'first_byte_timeout' },
      { provider: 'other', providerModel: 'gpt-5-mini-2026', result: 'status_503' },
    ]);
    for (const nothing of ['charge', 'unchargedAttempts'])
      expect(await detailOf(replayed.id)).not.toHaveProperty(nothing);
    const owner = await dashboard.signedIn(await dashboard.addUser({ in: [buyer, 'owner'] }));
    expect((await owner.get(pathOf(charged.id))).body).not.toHaveProperty('unchargedAttempts');
  });

  it('reports of gateway processes are shown, to each reader only their own part', async () => {
    expect((await member.get(own('/models'))).body).toEqual({ models: [] });
    const reports = openProcessReports(dashboard.databaseUrl, SILENT, PATIENT);
    const process = { id: crypto.randomUUID(), host: 'one', worker: 0, pid: 7, startedAtMs: Date.now() };
    await reports.write(
      process,
      reportWith({ holds: holdsOf({ [organizationId]: ['700', 2], 'org-other': ['5', 1] }) }),
      configurationWith({
        models: [MODEL, { ...MODEL, id: 'off', disabled: true }],
        priceLists: { partner: { others: { percentParts: 1_000_000 }, models: {} } },
      }),
    );
    const { body: organization } = await member.get<OrganizationView>(own(''));
    expect(organization).toMatchObject({
      id: organizationId,
      name: 'Acme',
      balanceNanoUsd: '0',
      heldNanoUsd: '700',
      limits: { requestsPerMinute: 60, concurrency: 64, allowMultipleCompletions: false },
    });
    const { body: models } = await member.get(own('/models'));
    expect(models).toMatchObject({
      models: [
        { id: 'small', state: 'available', priceTable: { prices: MODEL.prices, above: MODEL.above, serviceTiers: {} } },
        { id: 'off', state: 'disabled' },
      ],
    });
    // An organization with a price list sees its own prices, and nobody else does.
    const partner = await dashboard.addOrganization('Partner');
    await dashboard.administration.updateOrganization(partner, { priceList: 'partner' }, BY);
    const guest = await dashboard.signedIn(await dashboard.addUser({ in: [partner, 'member'] }));
    const twice = (picoUsd: string) => String(2n * BigInt(picoUsd));
    const listed = { inputPicoUsd: twice(MODEL.prices.inputPicoUsd), outputPicoUsd: twice(MODEL.prices.outputPicoUsd) };
    const { body: theirs } = await guest.get(`/api/organizations/${partner}/models`);
    expect(theirs).toMatchObject({ models: [{ priceTable: { prices: listed } }, { id: 'off' }] });
    expect((await member.get(own('/models'))).body).toEqual(models);
    expect((await guest.get(own('/models'))).status).toBe(404);
    // The name of a price list is for operators only.
    expect((await operator.get(`/api/organizations/${partner}`)).body).toMatchObject({ priceList: 'partner' });
    expect((await guest.get(`/api/organizations/${partner}`)).body).not.toHaveProperty('priceList');
    const owner = await dashboard.signedIn(await dashboard.addUser({ in: [partner, 'owner'] }));
    const audit = async (reader: typeof owner) =>
      JSON.stringify((await reader.get(`/api/organizations/${partner}/audit`)).body);
    expect(await audit(owner)).not.toMatch(/priceList|organization\.updated/);
    expect(await audit(operator)).toContain('priceList');
    const { body: mapping } = await operator.get<MappingView>('/api/mapping');
    expect(mapping).toMatchObject({ file: '/etc/gateway.yaml', models: [{ id: 'small' }, { id: 'off' }] });
    const { body: system } = await operator.get<SystemView>('/api/system');
    expect(system.processes).toMatchObject([
      { id: process.id, state: 'ready', figures: { holds: { totalNanoUsd: '705', count: 3 } } },
    ]);
    expect(system.nowMs).toBeGreaterThan(Date.now() - 60_000);
    await reports.remove(process.id);
    await reports.close();
    expect((await member.get<OrganizationView>(own(''))).body.heldNanoUsd).toBe('0');
  });
});
