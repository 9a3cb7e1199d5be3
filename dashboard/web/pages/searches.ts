import { defineSearch, idOf, moment, oneOf, type Search, text } from '#contract/define-search.ts';
import { DAY_RANGES, LIST_RANGES } from '#contract/explore-search.ts';
import { KEY_GROUPS } from '#core/key-filter.ts';
import { ACTIONS } from '../audit/audit-labels.ts';
import { KEY_SORTS } from '../keys/key-sorting.ts';
import { ABILITIES, MODEL_SORTS } from '../models/model-labels.ts';

const namesOf = <Name extends string>(ranges: Readonly<Record<Name, string>>) => Object.keys(ranges) as Name[];
const TIMES = { range: oneOf(namesOf(LIST_RANGES), 'all'), fromMs: moment, toMs: moment };
const ORDER = oneOf(['asc', 'desc']);

/** `key`: the key that the drawer shows. */
export const keysSearch = defineSearch(
  { search: text, show: oneOf(KEY_GROUPS, 'usable') },
  { key: text, dialog: oneOf(['create']), sort: oneOf(KEY_SORTS), order: ORDER },
);

/** Messages are not in the address, because addresses are stored in histories and logs. */
export const playgroundSearch = defineSearch({}, { model: text, beside: text, key: idOf('key') });

/** Stripe redirects payers to an address with `topUp` or `card`. */
export const creditsSearch = defineSearch(
  { kind: oneOf(['credit', 'charge']), ...TIMES },
  { topUp: idOf('top'), card: oneOf(['saved']), dialog: oneOf(['top-up']) },
);

/** `key`: shows only models that this key may use. */
export const modelsSearch = defineSearch(
  { search: text, can: oneOf(ABILITIES), key: text },
  { sort: oneOf(MODEL_SORTS), order: ORDER },
);
/** `model`: the initial choice. */
export const connectSearch = defineSearch({}, { model: text });
export const membersSearch = defineSearch({ search: text }, { dialog: oneOf(['invite']) });
export const organizationsSearch = defineSearch({ search: text }, { dialog: oneOf(['create']) });
export const usersSearch = membersSearch;
export const mappingSearch = defineSearch({ search: text });
export const errorsSearch = defineSearch({ search: text });

const COST_SUBJECTS = ['model', 'provider', 'organization', 'day'] as const;
export const COST_MEASURES = ['list', 'revenue', 'cost', 'margin', 'losses'] as const;
export const COSTS_RANGE = '30d';

export const costsSearch = defineSearch(
  {},
  {
    range: oneOf(namesOf(DAY_RANGES), COSTS_RANGE),
    fromMs: moment,
    toMs: moment,
    by: oneOf(COST_SUBJECTS, 'model'),
    show: oneOf(COST_MEASURES, 'revenue'),
    sort: oneOf(['subject', 'requests', ...COST_MEASURES]),
    order: ORDER,
  },
);

/** `actor`: part of the actor's name. */
export const operatorAuditSearch = defineSearch({
  ...{ organization: idOf('org'), actor: text, action: oneOf(ACTIONS) },
  ...TIMES,
});
export type AuditState = ReturnType<typeof operatorAuditSearch>;
export const auditSearch: Search<AuditState> = defineSearch({ actor: text, action: oneOf(ACTIONS), ...TIMES });

export type KeysState = ReturnType<typeof keysSearch>;
export type CostsState = ReturnType<typeof costsSearch>;
export type CostSubject = (typeof COST_SUBJECTS)[number];
export type CostMeasure = (typeof COST_MEASURES)[number];
export type CreditsState = ReturnType<typeof creditsSearch>;
export type PlaygroundState = ReturnType<typeof playgroundSearch>;
