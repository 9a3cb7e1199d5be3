import { ledgerFilter, ledgerPageInput, type ModelView } from '#contract/money.ts';
import { ownChange } from '#contract/organization.ts';
import { csvLines } from '#core/csv-lines.ts';
import { present } from '#core/present.ts';
import type { PriceList } from '#core/price-list.ts';
import { ledgerPage } from '#database/ledger/ledger-pages.ts';
import { findOrganization, updateOrganization } from '#database/organizations/organization-rows.ts';
import { currentConfiguration } from '#database/process-reports/process-reports.ts';
import type { ReportedModel } from '#database/process-reports/report.ts';
import { actorOf, csvRoute, type Route, route } from '../http/route.ts';
import { CSV_LEDGER_COLUMNS } from './csv-tables.ts';
import { organizationView, ownSettings } from './organization-view.ts';
import { priceListOf, pricesView } from './price-table-view.ts';

const PAGE_ROWS = 50;

export const OWN_ORGANIZATION_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization', {
    access: 'member',
    async handle({ deps, organizationId, role }) {
      const view = await organizationView(deps, organizationId);
      if (role === 'operator' || !('priceList' in view)) return view;
      const { priceList: _hidden, ...shown } = view;
      return shown;
    },
  }),
  route('GET /api/organizations/:organization/settings', {
    access: 'owner',
    handle: async ({ deps, organizationId }) => ownSettings(await findOrganization(deps.database, organizationId)),
  }),
  route('PATCH /api/organizations/:organization/settings', {
    access: 'owner',
    input: ownChange,
    async handle(call) {
      const { deps, organizationId, input } = call;
      return ownSettings(await updateOrganization(deps.database, organizationId, input, actorOf(call)));
    },
  }),
  route('GET /api/organizations/:organization/models', {
    access: 'member',
    async handle({ deps, organizationId }) {
      const organization = await findOrganization(deps.database, organizationId);
      const configuration = await currentConfiguration(deps.database, organization?.priceList);
      const list = priceListOf(configuration?.priceLists, organization?.priceList);
      return { models: configuration?.models.map((model) => modelView(model, list, deps.nowMs())) ?? [] };
    },
  }),
  route('GET /api/organizations/:organization/ledger', {
    access: 'member',
    input: ledgerPageInput,
    handle: ({ deps, organizationId, role, input }) =>
      ledgerPage(deps.database, { organizationId, forCustomer: role !== 'operator', ...input, limit: PAGE_ROWS }),
  }),
  csvRoute('/api/organizations/:organization/ledger.csv', {
    access: 'member',
    input: ledgerFilter,
    handle: async ({ deps, organizationId, role, input }) =>
      csvLines(CSV_LEDGER_COLUMNS, async (before: number | undefined, limit) => {
        const query = { organizationId, forCustomer: role !== 'operator', ...input, ...present({ before }), limit };
        const { entries, next } = await ledgerPage(deps.database, query);
        return { rows: entries, ...present({ next }) };
      }),
  }),
];

/** A model as customers see it. A problem of the mapping is shown as a state, without its cause. */
export function modelView({ disabled, problem, ...model }: ReportedModel, list: PriceList, nowMs: number): ModelView {
  const { id, capabilities, reasoningEfforts, contextWindow, maxOutputTokens, defaultOutputTokens } = model;
  return {
    id,
    capabilities,
    reasoningEfforts,
    contextWindow,
    maxOutputTokens,
    defaultOutputTokens,
    takesTemperature: model.takesTemperature ?? true,
    ...pricesView(model, list, nowMs),
    state: disabled ? 'disabled' : problem === null ? 'available' : 'misconfigured',
  };
}
