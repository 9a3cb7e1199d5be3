import {
  everyRequestFilter,
  everyRequestInput,
  type RequestDetail,
  type RequestFilter,
  type RequestPage,
  type RequestPageInput,
  requestFilter,
  requestPageInput,
} from '#contract/request-log.ts';
import { csvLines, type Step } from '#core/csv-lines.ts';
import { present } from '#core/present.ts';
import { findCharge } from '#database/ledger/charge-reads.ts';
import { findEveryRequest } from '#database/request-log/every-request.ts';
import { countOmitted } from '#database/request-log/omitted-count.ts';
import { requestDetail, requestView } from '#database/request-log/request-columns.ts';
import { findRequest, findUnchargedAttempts, searchRequests } from '#database/request-log/request-lookups.ts';
import { type FoundRequests, findRequests } from '#database/request-log/request-pages.ts';
import type { Database } from '../fairness/stores.ts';
import { notFound } from '../http/problem.ts';
import { csvRoute, type Deps, type Route, route } from '../http/route.ts';
import { requestColumns } from './csv-tables.ts';

const PAGE_ROWS = 50;
/** Rows that one step of the CSV reads. At most six steps are read at once. */
const STEP_ROWS = 250;
/**
 * A row may have 16 metadata names of 64 characters and texts of 512, which customers choose.
 * Metadata of this many characters becomes at most 4 MB of CSV: two bytes each, and quotes are
 * doubled. Sixteen open tables need 64 MB.
 */
const STEP_METADATA = 1_000_000;

export const REQUEST_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/requests', {
    access: 'member',
    input: requestPageInput,
    handle: ({ deps, organizationId, input }) => requestPage(deps.database, organizationId, input),
  }),
  route('GET /api/requests', {
    access: 'operator',
    input: everyRequestInput,
    handle: ({ deps, input }) => requestPage(deps.database, undefined, input),
  }),
  route('GET /api/organizations/:organization/requests/:request', {
    access: 'member',
    async handle({ deps: { database }, organizationId, role, params }) {
      const row = await findRequest(database, organizationId, params.request);
      if (row === undefined) return notFound('request');
      const { generationId, costNanoUsd, replayed } = row;
      if (generationId === undefined || replayed) return requestDetail(row);
      const isCharged = costNanoUsd !== undefined;
      const charge = isCharged ? await findCharge(database, organizationId, generationId) : undefined;
      const attempts = role === 'operator' ? await findUnchargedAttempts(database, organizationId, generationId) : [];
      return requestDetail(row, present({ charge, unchargedAttempts: attempts.length > 0 ? attempts : undefined }));
    },
  }),
  csvRoute('/api/organizations/:organization/requests.csv', {
    access: 'member',
    input: requestFilter,
    handle: async ({ deps, organizationId, input }) => requestLines(deps, organizationId, input),
  }),
  csvRoute('/api/requests.csv', {
    access: 'operator',
    input: everyRequestFilter,
    handle: async ({ deps, input }) => requestLines(deps, undefined, input),
  }),
];

async function requestPage(
  database: Database,
  organizationId: string | undefined,
  input: RequestPageInput,
): Promise<RequestPage> {
  const { search, ...filter } = input;
  const [{ rows, ...rest }, omitted] = await Promise.all([
    readRequests(database, organizationId, { ...input, limit: PAGE_ROWS }),
    search === undefined ? countOmitted(database, { ...present({ organizationId }), ...filter }) : { leftOut: 0 },
  ]);
  return { requests: rows.map(requestView), ...rest, ...omitted };
}

/** Without an organization, reads requests of all of them. */
export async function readRequests(
  database: Database,
  organizationId: string | undefined,
  { search, ...query }: RequestPageInput & { readonly limit: number },
): Promise<FoundRequests> {
  if (search !== undefined) return { rows: await searchRequests(database, organizationId, search, query.limit) };
  if (organizationId === undefined) return findEveryRequest(database, query);
  return findRequests(database, { ...query, organizationId });
}

function requestLines({ database, settings }: Deps, organizationId: string | undefined, filter: RequestFilter) {
  const columns = requestColumns(settings().apis.length > 0, organizationId === undefined);
  const read = async (before: string | undefined, limit: number) => {
    const page = { ...filter, ...present({ before }), limit };
    return shortened(await readRequests(database, organizationId, page));
  };
  return csvLines(columns, read, { stepRows: STEP_ROWS });
}

/** Ends a step with the row at which its text is long enough. The next step begins after it. */
function shortened({ rows, next }: FoundRequests): Step<RequestDetail, string> {
  const kept: RequestDetail[] = [];
  let length = 0;
  for (const row of rows) {
    const detail = requestDetail(row);
    kept.push(detail);
    length += detail.metadata?.length ?? 0;
    if (length >= STEP_METADATA && kept.length < rows.length) return { rows: kept, next: row.id };
  }
  return { rows: kept, ...present({ next }) };
}
