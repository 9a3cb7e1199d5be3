import type { CostGroupName, CostRowView } from '#contract/costs.ts';
import type { LedgerEntryView } from '#contract/money.ts';
import type { AuditEventView } from '#contract/people.ts';
import type { RequestDetail } from '#contract/request-log.ts';
import { type Column, type Columns, csvTime, csvUsd } from '#core/csv.ts';

/** Columns by field of the row. A field that is neither here nor in LeftOut does not compile. */
type ColumnsByField<Row, LeftOut extends keyof Row = never> = Readonly<
  Record<Exclude<keyof Row, LeftOut>, Column<Row>>
>;

const CSV_REQUEST_COLUMNS_BY_FIELD: ColumnsByField<
  RequestDetail,
  'id' | 'api' | 'keyLast4' | 'charge' | 'unchargedAttempts' | 'organizationId' | 'organizationName'
> = {
  atMs: ['time', ({ atMs }) => csvTime(atMs)],
  requestId: ['request_id', ({ requestId }) => requestId],
  generationId: ['generation_id', ({ generationId }) => generationId],
  keyId: ['key_id', ({ keyId }) => keyId],
  keyName: ['key_name', ({ keyName }) => keyName],
  route: ['route', ({ route }) => route],
  model: ['model', ({ model }) => model],
  provider: ['provider', ({ provider }) => provider],
  status: ['status', ({ status }) => status],
  code: ['code', ({ code }) => code],
  streamed: ['streamed', ({ streamed }) => streamed],
  replayed: ['replayed', ({ replayed }) => replayed],
  clientGone: ['client_gone', ({ clientGone }) => clientGone],
  promptTokens: ['prompt_tokens', ({ promptTokens }) => promptTokens],
  completionTokens: ['completion_tokens', ({ completionTokens }) => completionTokens],
  cachedTokens: ['cached_tokens', ({ cachedTokens }) => cachedTokens],
  reasoningTokens: ['reasoning_tokens', ({ reasoningTokens }) => reasoningTokens],
  costNanoUsd: ['cost_usd', ({ costNanoUsd }) => csvUsd(costNanoUsd)],
  firstEventMs: ['first_event_ms', ({ firstEventMs }) => firstEventMs],
  durationMs: ['duration_ms', ({ durationMs }) => durationMs],
  address: ['address', ({ address }) => address],
  userAgent: ['user_agent', ({ userAgent }) => userAgent],
  user: ['user', ({ user }) => user],
  metadata: ['metadata', ({ metadata }) => metadata],
};
const CSV_REQUEST_COLUMNS: Columns<RequestDetail> = Object.values(CSV_REQUEST_COLUMNS_BY_FIELD);
/** API of requests that generate output. Reads have none. */
const API_COLUMN: Column<RequestDetail> = ['api', ({ api }) => api];

const ORGANIZATION_COLUMNS: Columns<Pick<AuditEventView, 'organizationId' | 'organizationName'>> = [
  ['organization_id', ({ organizationId }) => organizationId],
  ['organization_name', ({ organizationName }) => organizationName],
];

/** `hasDoors`: clients may use other APIs than chat completions. */
export function requestColumns(hasDoors: boolean, isOfAll: boolean): Columns<RequestDetail> {
  return [...(isOfAll ? ORGANIZATION_COLUMNS : []), ...CSV_REQUEST_COLUMNS, ...(hasDoors ? [API_COLUMN] : [])];
}

const CSV_LEDGER_COLUMNS_BY_FIELD: ColumnsByField<LedgerEntryView> = {
  atMs: ['time', ({ atMs }) => csvTime(atMs)],
  sequence: ['sequence', ({ sequence }) => sequence],
  kind: ['kind', ({ kind }) => kind],
  amountNanoUsd: ['amount_usd', ({ amountNanoUsd }) => csvUsd(amountNanoUsd)],
  balanceNanoUsd: ['balance_usd', ({ balanceNanoUsd }) => csvUsd(balanceNanoUsd)],
  generationId: ['generation_id', ({ generationId }) => generationId],
  model: ['model', ({ model }) => model],
  keyId: ['key_id', ({ keyId }) => keyId],
  keyName: ['key_name', ({ keyName }) => keyName],
  note: ['note', ({ note }) => note],
  reference: ['reference', ({ reference }) => reference],
  actor: ['actor', ({ actor }) => actor],
};
export const CSV_LEDGER_COLUMNS: Columns<LedgerEntryView> = Object.values(CSV_LEDGER_COLUMNS_BY_FIELD);

const CSV_AUDIT_COLUMNS_BY_FIELD: ColumnsByField<AuditEventView, 'organizationId' | 'organizationName' | 'keyNames'> = {
  atMs: ['time', ({ atMs }) => csvTime(atMs)],
  id: ['id', ({ id }) => id],
  actor: ['actor', ({ actor }) => actor],
  address: ['address', ({ address }) => address],
  action: ['action', ({ action }) => action],
  subjectId: ['subject_id', ({ subjectId }) => subjectId],
  subjectName: ['subject_name', ({ subjectName }) => subjectName],
  changes: ['changes', ({ changes }) => JSON.stringify(changes)],
};
const CSV_AUDIT_COLUMNS: Columns<AuditEventView> = Object.values(CSV_AUDIT_COLUMNS_BY_FIELD);

export function auditColumns(isOfAll: boolean): Columns<AuditEventView> {
  return [...(isOfAll ? ORGANIZATION_COLUMNS : []), ...CSV_AUDIT_COLUMNS];
}

const COST_GROUPS: Readonly<Record<CostGroupName, Columns<CostRowView>>> = {
  day: [['date', ({ day }) => day]],
  model: [['model', ({ model }) => model]],
  provider: [['provider', ({ provider }) => provider]],
  organization: ORGANIZATION_COLUMNS,
};

const COST_FIGURES: Columns<CostRowView> = [
  ['requests', ({ requests }) => requests],
  ['revenue_usd', ({ revenueNanoUsd }) => csvUsd(revenueNanoUsd)],
  ['cost_usd', ({ costNanoUsd }) => csvUsd(costNanoUsd)],
  ['margin_usd', ({ marginNanoUsd }) => csvUsd(marginNanoUsd)],
  ['losses_usd', ({ lossesNanoUsd }) => csvUsd(lossesNanoUsd)],
  ['list_usd', ({ listNanoUsd }) => csvUsd(listNanoUsd)],
];

export function costColumns(groupBy: ReadonlySet<CostGroupName>): Columns<CostRowView> {
  return [...[...groupBy].flatMap((group) => COST_GROUPS[group]), ...COST_FIGURES];
}
