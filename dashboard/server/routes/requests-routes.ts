import type { RequestPage, RequestPageInput } from '#contract/request-log.ts';
import { findCharge } from '#database/ledger/charge-reads.ts';
import { countOmitted } from '#database/request-log/omitted-count.ts';
import { requestDetail, requestView } from '#database/request-log/request-columns.ts';
import { findRequest, searchRequests } from '#database/request-log/request-lookups.ts';
import { findRequests } from '#database/request-log/request-pages.ts';
import { notFound } from '../http/problem.ts';
import { type OrganizationCall, type Route, route } from '../http/route.ts';
import { nothing } from './input-fields.ts';
import { requestPageInput } from './table-filters.ts';

const PAGE_ROWS = 50;

export const REQUEST_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/requests', {
    access: 'member',
    input: requestPageInput,
    handle: requestPage,
  }),
  route('GET /api/organizations/:organization/requests/:request', {
    access: 'member',
    input: nothing,
    async handle({ deps, organizationId, params }) {
      const row = await findRequest(deps.database, organizationId, params.request);
      if (row === undefined) return notFound('request');
      const { generation_id: generationId, cost_nano_usd: cost } = row;
      const isCharged = generationId !== null && cost !== null;
      return requestDetail(row, isCharged ? await findCharge(deps.database, organizationId, generationId) : undefined);
    },
  }),
];

type PageCall = OrganizationCall & { readonly input: RequestPageInput };

async function requestPage({ deps, organizationId, input }: PageCall): Promise<RequestPage> {
  const { search, ...filter } = input;
  if (search !== undefined) {
    const found = await searchRequests(deps.database, organizationId, search, PAGE_ROWS);
    return { requests: found.map(requestView), leftOut: 0 };
  }
  const [{ rows, ...rest }, leftOut] = await Promise.all([
    findRequests(deps.database, { organizationId, ...filter, limit: PAGE_ROWS }),
    countOmitted(deps.database, { organizationId, ...filter }),
  ]);
  return { requests: rows.map(requestView), ...rest, leftOut };
}
