import { DAY_MS, type UtcDay, utcDay, utcDayText } from '#core/clock.ts';
import { isRefusal, type Refusal, refuse } from '#core/errors/refusal.ts';
import { usdNumber } from '#core/money.ts';
import type { UsageGroup, UsageQuery, UsageRow } from '#database/ledger/ledger.ts';
import type { DeliveryService } from '../delivery/delivery-service.ts';
import type { AuthorizedRequest, EndpointResult } from './authorized-request.ts';
import type { SettledDeps } from './generation.ts';
import { readQuery } from './query.ts';
import { tokenFigures, UsageSums } from './token-figures.ts';

const DEFAULT_DAYS = 30;
/** Longest period, both ends included. The table has a row per day, key and model. */
const MOST_DAYS = 3660;
const GROUPS: readonly UsageGroup[] = ['day', 'model', 'key', 'user'];

/**
 * Bounds of a response: 25 MB without users, and 200 ms of work. The name of a user may be longer
 * than the rest of the row.
 */
const MOST_ROWS = 100_000;
const MOST_BYTES = 64 * 1024 * 1024;
const TOO_MANY = refuse(
  'invalid_request',
  {
    problem: `The response would have more than ${MOST_ROWS} rows or 64 MiB: narrow start_date and end_date, or group by less.`,
  },
  { param: 'group_by' },
);
/** Not `no_capacity`, because a retry would take as long. */
const TOO_LONG = refuse(
  'invalid_request',
  { problem: 'The sums took longer than ten seconds: narrow start_date and end_date.' },
  { param: 'start_date' },
);

export interface UsageDeps extends SettledDeps {
  readonly delivery: DeliveryService;
}

/**
 * `GET /v1/usage`: usage and charges by UTC day, model, key and user. All rows are read before the
 * response begins, so that no slow client keeps a connection to PostgreSQL.
 */
export async function showUsage(
  request: AuthorizedRequest,
  { ledger, delivery, accounting }: UsageDeps,
): Promise<EndpointResult> {
  const { exchange, principal, config } = request;
  const query = usageQuery(request.route.query, principal.organization.id, utcDay(request.arrivedAtMs));
  if (isRefusal(query)) return query;
  const limited = await request.takeRead();
  if (limited) return limited;
  await accounting.shipper.shipOf(principal.organization.id);
  const total = new UsageTotal();
  const pieces: Buffer[] = [Buffer.from('{"data":[')];
  let bytes = 0;
  const isTooMuch = () => total.rows > MOST_ROWS || bytes > MOST_BYTES;
  const isInTime = await ledger.usage(query, (rows) => {
    const separator = total.rows > 0 && rows.length > 0 ? ',' : '';
    for (const row of rows) total.add(row);
    if (isTooMuch() || exchange.gone.aborted) return false;
    const piece = Buffer.from(separator + rows.map((row) => JSON.stringify(usageRecord(row))).join(','));
    bytes += piece.length;
    pieces.push(piece);
    return true;
  });
  if (isTooMuch()) return TOO_MANY;
  if (!isInTime) return TOO_LONG;
  pieces.push(Buffer.from(`],"total":${JSON.stringify(total.figures())}}`));
  const refused = await delivery.sendRead(
    {
      status: 200,
      headers: { 'content-type': 'application/json' },
      body: Buffer.concat(pieces),
      organizationId: principal.organization.id,
      timeoutMs: config.timeouts.totalMs,
    },
    exchange,
  );
  request.notes.clientGone = exchange.gone.aborted;
  return refused ?? { kind: 'responded', status: 200 };
}

function usageQuery(text: string, organizationId: string, today: UtcDay): UsageQuery | Refusal {
  const query = readQuery(text, ['start_date', 'end_date', 'group_by']);
  if (isRefusal(query)) return query;
  const { start_date, end_date, group_by } = query.values;
  const lastDay = end_date === undefined ? today : dayOf(end_date);
  if (lastDay === undefined) return malformed('end_date', 'a date such as 2026-11-21');
  const firstDay = start_date === undefined ? lastDay - DEFAULT_DAYS + 1 : dayOf(start_date);
  if (firstDay === undefined) return malformed('start_date', 'a date such as 2026-11-21');
  if (firstDay > lastDay) return malformed('start_date', 'not after end_date');
  if (lastDay - firstDay >= MOST_DAYS) return malformed('start_date', `at most ${MOST_DAYS - 1} days before end_date`);
  const groupBy = group_by === undefined ? new Set<UsageGroup>(['day']) : groupsOf(group_by);
  if (groupBy === undefined) return malformed('group_by', `a list of: ${GROUPS.join(', ')}`);
  return { organizationId, firstDay, lastDay, groupBy };
}

function malformed(param: string, accepted: string): Refusal {
  return refuse('invalid_request', { problem: `${param} must be ${accepted}.` }, { param });
}

function dayOf(text: string): UtcDay | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined;
  const day = Date.parse(`${text}T00:00:00Z`) / DAY_MS;
  // Date.parse reads the 30th of February as the 2nd of March.
  return Number.isInteger(day) && utcDayText(day) === text ? day : undefined;
}

function groupsOf(text: string): Set<UsageGroup> | undefined {
  const groups = new Set<UsageGroup>();
  for (const name of text.split(',')) {
    const group = GROUPS.find((candidate) => candidate === name);
    if (group === undefined) return undefined;
    groups.add(group);
  }
  return groups;
}

function usageRecord(row: UsageRow) {
  return {
    ...(row.day === undefined ? {} : { date: utcDayText(row.day) }),
    ...(row.model === undefined ? {} : { model: row.model }),
    ...(row.keyId === undefined ? {} : { api_key_id: row.keyId }),
    ...(row.user === undefined ? {} : { user: row.user }),
    ...figures(row),
  };
}

function figures({ requests, usage, costNanoUsd }: Pick<UsageRow, 'requests' | 'usage' | 'costNanoUsd'>) {
  return {
    requests,
    ...tokenFigures(usage),
    cost: usdNumber(costNanoUsd),
  };
}

class UsageTotal {
  rows = 0;
  #requests = 0;
  readonly #sums = new UsageSums();
  #costNanoUsd = 0n;

  add({ requests, usage, costNanoUsd }: UsageRow): void {
    this.rows += 1;
    this.#requests += requests;
    this.#sums.add(usage);
    this.#costNanoUsd += costNanoUsd;
  }

  figures() {
    return figures({ requests: this.#requests, usage: this.#sums.usage, costNanoUsd: this.#costNanoUsd });
  }
}
