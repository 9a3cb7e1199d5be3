import { ledgerPageInput, type ModelView } from '#contract/money.ts';
import { ownChange } from '#contract/organization.ts';
import type { PriceList } from '#core/price-list.ts';
import { ledgerPage } from '#database/ledger/ledger-pages.ts';
import { currentConfiguration } from '#database/process-reports/process-reports.ts';
import type { ReportedModel } from '#database/process-reports/report.ts';
import { actorOf, type Route, route } from '../http/route.ts';
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
    handle: async ({ deps, organizationId }) => ownSettings(await deps.administration.organization(organizationId)),
  }),
  route('PATCH /api/organizations/:organization/settings', {
    access: 'owner',
    input: ownChange,
    async handle(call) {
      const { deps, organizationId, input } = call;
      return ownSettings(await deps.administration.updateOrganization(organizationId, input, actorOf(call)));
    },
  }),
  route('GET /api/organizations/:organization/models', {
    access: 'member',
    async handle({ deps, organizationId }) {
      const organization = await deps.administration.organization(organizationId);
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
];

/** A model as customers see it. A mapping problem is shown as a state, without its cause. */
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
