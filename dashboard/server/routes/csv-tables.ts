import { formatUsd } from '../../../core/money.ts';
import type { LedgerEntryView, UsageGroupName, UsageRowView } from '../../contract/money.ts';
import type { RequestDetail } from '../../contract/request-log.ts';

type Cell = string | number | boolean | undefined;

/**
 * Columns of a CSV file: the name for the header line, and the value for a row. Times are ISO 8601
 * in UTC, amounts exact USD.
 */
export type Columns<Row> = readonly (readonly [name: string, cell: (row: Row) => Cell])[];

export const REQUEST_COLUMNS: Columns<RequestDetail> = [
  ['time', ({ atMs }) => isoTime(atMs)],
  ['request_id', ({ requestId }) => requestId],
  ['generation_id', ({ generationId }) => generationId],
  ['key_id', ({ keyId }) => keyId],
  ['key_name', ({ keyName }) => keyName],
  ['route', ({ route }) => route],
  ['model', ({ model }) => model],
  ['provider', ({ provider }) => provider],
  ['status', ({ status }) => status],
  ['code', ({ code }) => code],
  ['streamed', ({ streamed }) => streamed],
  ['replayed', ({ replayed }) => replayed],
  ['client_gone', ({ clientGone }) => clientGone],
  ['prompt_tokens', ({ promptTokens }) => promptTokens],
  ['completion_tokens', ({ completionTokens }) => completionTokens],
  ['cached_tokens', ({ cachedTokens }) => cachedTokens],
  ['reasoning_tokens', ({ reasoningTokens }) => reasoningTokens],
  ['cost_usd', ({ costNanoUsd }) => usd(costNanoUsd)],
  ['first_event_ms', ({ firstEventMs }) => firstEventMs],
  ['duration_ms', ({ durationMs }) => durationMs],
  ['address', ({ address }) => address],
  ['user_agent', ({ userAgent }) => userAgent],
];

export const LEDGER_COLUMNS: Columns<LedgerEntryView> = [
  ['time', ({ atMs }) => isoTime(atMs)],
  ['sequence', ({ sequence }) => sequence],
  ['kind', ({ kind }) => kind],
  ['amount_usd', ({ amountNanoUsd }) => usd(amountNanoUsd)],
  ['balance_usd', ({ balanceNanoUsd }) => usd(balanceNanoUsd)],
  ['generation_id', ({ generationId }) => generationId],
  ['model', ({ model }) => model],
  ['key_id', ({ keyId }) => keyId],
  ['key_name', ({ keyName }) => keyName],
  ['note', ({ note }) => note],
  ['reference', ({ reference }) => reference],
  ['actor', ({ actor }) => actor],
];

const USAGE_GROUPS: Readonly<Record<UsageGroupName, Columns<UsageRowView>>> = {
  day: [['date', ({ day }) => day]],
  model: [['model', ({ model }) => model]],
  key: [
    ['key_id', ({ keyId }) => keyId],
    ['key_name', ({ keyName }) => keyName],
  ],
};

/** Includes only the columns of the chosen groups. */
export function usageColumns(groupBy: ReadonlySet<UsageGroupName>): Columns<UsageRowView> {
  return [
    ...[...groupBy].flatMap((group) => USAGE_GROUPS[group]),
    ['requests', ({ requests }) => requests],
    ['prompt_tokens', ({ promptTokens }) => promptTokens],
    ['completion_tokens', ({ completionTokens }) => completionTokens],
    ['cached_tokens', ({ cachedTokens }) => cachedTokens],
    ['reasoning_tokens', ({ reasoningTokens }) => reasoningTokens],
    ['cost_usd', ({ costNanoUsd }) => usd(costNanoUsd)],
  ];
}

function isoTime(atMs: number): string {
  return new Date(atMs).toISOString();
}

function usd(nanoUsd: string | undefined): string | undefined {
  return nanoUsd === undefined ? undefined : formatUsd(BigInt(nanoUsd));
}
