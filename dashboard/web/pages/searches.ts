import type { UsageGroupName } from '#contract/money.ts';
import { KEY_GROUPS } from '#core/key-filter.ts';
import { ACTIONS } from '../audit/audit-labels.ts';
import { ABILITIES } from '../models/model-labels.ts';
import { DEFAULT_PRESET, PRESETS, SPANS, validDays, validTimes } from '../search/days.ts';
import { day, defineSearch, idOf, oneOf, text, wholeNumber } from '../search/define-search.ts';

const TIMES = { range: oneOf(SPANS), from: day, to: day };
const DAYS = { range: oneOf(PRESETS, DEFAULT_PRESET), from: text, to: text };
const ORDER = oneOf(['asc', 'desc']);

export const overviewSearch = defineSearch(
  {},
  { range: oneOf(['24h', '7d', '30d'], '7d'), by: oneOf(['model', 'key'], 'model') },
);

/** `key`: the key in the drawer. */
export const keysSearch = defineSearch(
  { search: text, show: oneOf(KEY_GROUPS, 'usable') },
  { key: text, dialog: oneOf(['create']) },
);

/** Messages stay in the page: addresses are kept in histories and logs. */
export const playgroundSearch = defineSearch({}, { model: text, beside: text, key: idOf('key') });

/**
 * `fromMs` and `toMs` override `range`; one of them may be open. `search` is a request or
 * generation id, which overrides every other filter. `open` is the request in the drawer.
 */
export const requestsSearch = defineSearch(
  {
    range: oneOf(['15m', '1h', '24h', '7d', '30d']),
    fromMs: wholeNumber,
    toMs: wholeNumber,
    key: idOf('key'),
    model: text,
    outcome: oneOf(['succeeded', 'failed']),
    status: httpStatus,
    code: text,
    search: text,
  },
  { open: idOf('log') },
);

function httpStatus(value: unknown): number | undefined {
  const status = wholeNumber(value);
  return status !== undefined && status >= 100 && status <= 599 ? status : undefined;
}

/** `topUp` and `card` are in the address with which Stripe sends a payer back. */
export const creditsSearch = defineSearch(
  { kind: oneOf(['credit', 'charge']), ...TIMES },
  { topUp: idOf('top'), card: oneOf(['saved']), dialog: oneOf(['top-up']) },
  validTimes,
);

export const USAGE_GROUPS = ['day', 'model', 'key'] as const satisfies readonly UsageGroupName[];
export const USAGE_COLUMNS = [
  ...USAGE_GROUPS,
  'requests',
  'input',
  'cached',
  'cache-writes',
  'output',
  'reasoning',
  'cost',
] as const;

/** `by` is a list such as `day,model`. */
export const usageSearch = defineSearch(
  { ...DAYS, key: idOf('key'), model: text },
  {
    by: usageGroups,
    show: oneOf(['cost', 'requests', 'tokens'], 'cost'),
    sort: oneOf(USAGE_COLUMNS),
    order: ORDER,
  },
  validDays,
);

function usageGroups(value: unknown): string | undefined {
  const names = typeof value === 'string' ? value.split(',') : [];
  return USAGE_GROUPS.filter((name) => names.includes(name)).join(',') || undefined;
}

/** `key`: only models that this key may use. */
export const modelsSearch = defineSearch({ search: text, can: oneOf(ABILITIES), key: text });
export const membersSearch = defineSearch({ search: text }, { dialog: oneOf(['invite']) });
export const organizationsSearch = defineSearch({ search: text }, { dialog: oneOf(['create']) });
export const usersSearch = membersSearch;
export const errorsSearch = defineSearch({ search: text });

export const COST_SUBJECTS = ['model', 'provider', 'organization'] as const;
const COST_MEASURES = ['list', 'revenue', 'cost', 'margin', 'losses'] as const;

export const costsSearch = defineSearch(
  DAYS,
  {
    by: oneOf(COST_SUBJECTS, 'model'),
    daily: oneOf(['yes']),
    show: oneOf(COST_MEASURES, 'revenue'),
    sort: oneOf(['day', 'subject', 'requests', ...COST_MEASURES]),
    order: ORDER,
  },
  validDays,
);

/** `actor`: a part of the name of the person who did it. */
export const auditSearch = defineSearch({ actor: text, action: oneOf(ACTIONS), ...TIMES }, {}, validTimes);
export const operatorAuditSearch = defineSearch(
  { organization: idOf('org'), actor: text, action: oneOf(ACTIONS), ...TIMES },
  {},
  validTimes,
);

export type RequestsState = ReturnType<typeof requestsSearch>;
export type UsageState = ReturnType<typeof usageSearch>;
export type AuditState = ReturnType<typeof auditSearch>;
export type KeysState = ReturnType<typeof keysSearch>;
export type CostsState = ReturnType<typeof costsSearch>;
export type CostSubject = (typeof COST_SUBJECTS)[number];
export type CostMeasure = (typeof COST_MEASURES)[number];
export type CreditsState = ReturnType<typeof creditsSearch>;
