import { beforeAll, describe, expect, it } from 'vitest';
import type { CostGroupName } from '#contract/costs.ts';
import { DAY_MS } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { costReport } from '#database/costs/cost-reads.ts';
import { costTable, costTotal } from '#database/costs/cost-table.ts';
import {
  addCustomer,
  type Customer,
  createDatabase,
  DAY,
  openStore,
  SILENT,
  settlementOf,
  sql,
} from '../harness/database.ts';
import { opened } from '../harness/opened.ts';

const url = await createDatabase();
const store = opened(() => openStore(url));
const database = opened(async () => openDatabase(url, SILENT));

/** Revenue, cost, margin and losses on the operator's page. */
describe('the table of costs', () => {
  let acme: Customer;
  let other: Customer;

  /** Charges a request in the last millisecond of the day `daysAgo` days before DAY. */
  const charge = (customer: Customer, daysAgo: number, costNanoUsd: bigint, model = 'small', holdNanoUsd?: bigint) => {
    const atMs = (DAY - daysAgo + 1) * DAY_MS - 1;
    const generationId = newId('gen', atMs);
    const hold = holdNanoUsd === undefined ? {} : { holdNanoUsd };
    const provider = model === 'small' ? 'one' : 'two';
    const changes = { generationId, createdAtMs: atMs, day: DAY - daysAgo, model, provider, costNanoUsd, ...hold };
    return store.ledger.charge(settlementOf(customer, changes));
  };

  beforeAll(async () => {
    acme = await addCustomer(store, 1_000_000n);
    other = await addCustomer(store, 1_000_000n);
    await sql(url, `update organizations set name = 'Acme' where id = '${acme.organizationId}'`);
    await charge(acme, 0, 100n);
    await charge(acme, 0, 100n);
    await charge(acme, 1, 3_000n, 'large', 2_500n);
    await charge(other, 1, 40n);
    // Charges outside of the range of days.
    await charge(acme, 2, 7n);
    await charge(acme, -1, 7n);
  });

  const query = (...groups: CostGroupName[]) => ({ firstDay: DAY - 1, lastDay: DAY, groupBy: new Set(groups) });
  const row = (requests: number, revenueNanoUsd: string, lossesNanoUsd = '0') => ({
    ...{ requests, revenueNanoUsd, listNanoUsd: revenueNanoUsd, lossesNanoUsd },
  });
  const [today, yesterday] = ['2026-11-21', '2026-11-20'];

  it('has the newest day first, then the largest revenue, with losses on the day of their request', async () => {
    expect(await costTable(database, query('day', 'model'), 10)).toEqual([
      { day: today, model: 'small', ...row(2, '200') },
      { day: yesterday, model: 'large', ...row(1, '2500', '500') },
      { day: yesterday, model: 'small', ...row(1, '40') },
    ]);
    expect(await costTable(database, query('day'), 10)).toEqual([
      { day: today, ...row(2, '200') },
      { day: yesterday, ...row(2, '2540', '500') },
    ]);
  });

  it('groups by provider, and by organization with its name', async () => {
    expect(await costTable(database, query('provider'), 10)).toEqual([
      { provider: 'two', ...row(1, '2500', '500') },
      { provider: 'one', ...row(3, '240') },
    ]);
    expect(await costTable(database, query('organization'), 10)).toMatchObject([
      { organizationId: acme.organizationId, organizationName: 'Acme', ...row(3, '2700', '500') },
      { organizationId: other.organizationId, ...row(1, '40') },
    ]);
    expect(await costTable(database, query('day', 'organization'), 2)).toHaveLength(2);
  });

  it('has the same sums as the report of the command line', async () => {
    expect(await costTotal(database, query('day', 'model'))).toEqual(row(4, '2740', '500'));
    const range = { sinceMs: (DAY - 1) * DAY_MS, untilMs: (DAY + 1) * DAY_MS };
    for (const by of ['model', 'provider', 'organization'] as const) {
      const report = await costReport(database, { ...range, by });
      const rows = await costTable(database, query(by), 10);
      const amounts = (found: { subject: string; requests: number; revenue: unknown; losses: unknown }) => found;
      expect(
        rows.map((one) =>
          amounts({
            subject: one.model ?? one.provider ?? one.organizationId ?? '',
            requests: one.requests,
            revenue: BigInt(one.revenueNanoUsd),
            losses: BigInt(one.lossesNanoUsd),
          }),
        ),
      ).toEqual(
        report.map(({ subject, requests, revenueNanoUsd, lossesNanoUsd }) => ({
          ...{ subject, requests, revenue: revenueNanoUsd, losses: lossesNanoUsd },
        })),
      );
    }
  });

  it('shows the known part if the cost of some requests is unknown', async () => {
    const charged = (costNanoUsd: bigint, providerCost: object) => {
      const atMs = (DAY - 9) * DAY_MS;
      const at = { generationId: newId('gen', atMs), createdAtMs: atMs, day: DAY - 9 };
      return store.ledger.charge(settlementOf(acme, { ...at, costNanoUsd, ...providerCost }));
    };
    await charged(50n, { providerCostNanoUsd: 43n });
    await charged(10n, {});
    const range = { firstDay: DAY - 9, lastDay: DAY - 9, groupBy: new Set<CostGroupName>() };
    const known = { revenueNanoUsd: '50', costNanoUsd: '43' };
    expect(await costTotal(database, range)).toEqual({ ...row(2, '60'), known });
  });

  it('is empty without charges', async () => {
    const before = { firstDay: DAY - 400, lastDay: DAY - 399, groupBy: new Set<CostGroupName>(['day', 'model']) };
    expect(await costTable(database, before, 10)).toEqual([]);
    expect(await costTotal(database, before)).toEqual(row(0, '0'));
  });
});
