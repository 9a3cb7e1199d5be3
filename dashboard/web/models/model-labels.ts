import type { KeyView } from '#contract/keys.ts';
import type { ModelView, PricesInTimeView, PriceWindowView } from '#contract/money.ts';
import { byPrice, PRICE_FIELDS, PRICE_KINDS, type PriceField } from '#core/price-kinds.ts';
import type { PricesJson, TableJson, TierJson } from '#core/price-table-text.ts';
import { formatCount, formatPricePerMillion } from '../format/format.ts';
import { chosenSorting, type SortingState, sortRows } from '../table/sorting.ts';

export const ABILITIES = ['tools', 'vision', 'json_mode', 'files', 'reasoning', 'embeddings'] as const;
/** A capability, or `reasoning`: the model accepts a reasoning effort. */
type Ability = (typeof ABILITIES)[number];

export const ABILITY_LABELS: Readonly<Record<Ability, string>> = {
  tools: 'Tools',
  vision: 'Vision',
  json_mode: 'JSON mode',
  files: 'Files',
  reasoning: 'Reasoning',
  embeddings: 'Embeddings',
};

/** Capabilities of a newer gateway are shown by their own name. */
export function capabilityLabel(capability: string): string {
  return capability in ABILITY_LABELS ? ABILITY_LABELS[capability as Ability] : capability;
}

/** `$0.25 in, $2.00 out` per million tokens. */
function priceLabel(model: Pick<ModelView, 'priceTable' | 'capabilities'>): string {
  const { inputPicoUsd, outputPicoUsd } = model.priceTable.prices;
  const output = hasPrice(model, 'outputPicoUsd') ? `, ${formatPricePerMillion(outputPicoUsd)} out` : '';
  return `${formatPricePerMillion(inputPicoUsd)} in${output}`;
}

export const MODEL_STATES = {
  available: { tone: 'good', text: 'Available', means: undefined },
  disabled: { tone: 'neutral', text: 'Disabled', means: 'Requests for it are refused with model_not_found.' },
  misconfigured: {
    tone: 'warn',
    text: 'Unavailable',
    means: 'Requests for it get upstream_config_error until the operator repairs its mapping.',
  },
} as const satisfies Record<ModelView['state'], { tone: string; text: string; means: string | undefined }>;

export function modelChoice(model: ModelView): { value: string; label: string; detail: string } {
  const { text } = MODEL_STATES[model.state];
  const words = [
    ...(model.state === 'available' ? [] : [text]),
    ...model.capabilities.map(capabilityLabel),
    priceLabel(model),
  ];
  return { value: model.id, label: model.id, detail: words.join(' · ') };
}

/** Headings of the prices, in the order of display. */
export const PRICE_LABELS = byPrice((field): string => PRICE_KINDS[field].heading);

export interface PricesOverTime extends PricesInTimeView {
  readonly priceTable: TableJson;
  readonly capabilities: readonly string[];
}

interface LabelledPrices {
  readonly label: string;
  readonly prices: PricesJson;
}

export function priceEntries(table: TableJson): readonly LabelledPrices[] {
  return [
    ...entriesOf(undefined, table),
    ...Object.entries(table.serviceTiers).flatMap(([tier, prices]) => entriesOf(tier, prices)),
  ];
}

export const OTHER_PRICES = 'Other prices by time, tier or length of the prompt';

export function hasOtherPrices({ priceTable, priceWindows, priceChanges }: PricesOverTime): boolean {
  return priceEntries(priceTable).length + priceWindows.length + priceChanges.length > 1;
}

/** The prices to show. A price that equals its fallback in all entries is left out. */
export function distinctPrices(
  entries: readonly LabelledPrices[],
  model: Pick<ModelView, 'capabilities'>,
): readonly PriceField[] {
  return PRICE_FIELDS.filter((field) => {
    if (!hasPrice(model, field)) return false;
    const kind = PRICE_KINDS[field];
    const other = 'fallsBackTo' in kind && PRICE_FIELDS.find((one) => PRICE_KINDS[one].name === kind.fallsBackTo);
    return !other || entries.some(({ prices }) => prices[field] !== prices[other]);
  });
}

function entriesOf(tier: string | undefined, { prices, above }: TierJson): readonly LabelledPrices[] {
  return [
    { label: priceEntryLabel(tier, undefined), prices },
    ...above.map((one) => ({ label: priceEntryLabel(tier, one.inputTokens), prices: one.prices })),
  ];
}

/** `Service tier flex, prompts above 272,000 tokens`. */
export function priceEntryLabel(tier: string | undefined, aboveTokens: number | undefined): string {
  const above = aboveTokens === undefined ? undefined : `rompts above ${formatCount(aboveTokens)} tokens`;
  if (tier === undefined) return above === undefined ? 'Base prices' : `P${above}`;
  return above === undefined ? `Service tier ${tier}` : `Service tier ${tier}, p${above}`;
}

const DAYS_OF_A_WEEK = 7;

/** `16:30-00:30 UTC, mon, fri, not on 2026-12-25`. */
export function windowLabel({ utc, days, except }: Omit<PriceWindowView, 'priceTable'>): string {
  const onDays = days.length === DAYS_OF_A_WEEK ? '' : `, ${days.join(', ')}`;
  return `${utc} UTC${onDays}${except.length === 0 ? '' : `, not on ${except.join(', ')}`}`;
}

/** Values by which models are sorted. Prices are ascending, tokens descending. */
const SORT_VALUES = {
  name: ({ id }) => id,
  context: ({ contextWindow }) => contextWindow,
  limit: ({ maxOutputTokens }) => maxOutputTokens,
  input: ({ priceTable: { prices } }) => BigInt(prices.inputPicoUsd),
  cached: ({ priceTable: { prices } }) => BigInt(prices.cachedInputPicoUsd),
  output: ({ priceTable: { prices } }) => BigInt(prices.outputPicoUsd),
} as const satisfies Readonly<Record<string, (model: ModelView) => string | number | bigint>>;
type ModelSort = keyof typeof SORT_VALUES;
export const MODEL_SORTS = Object.keys(SORT_VALUES) as readonly ModelSort[];
export const SORTABLE_MODELS = { usual: 'name', names: ['name', 'input', 'cached', 'output'] } as const;

interface ModelFilter extends SortingState<ModelSort> {
  readonly search?: string | undefined;
  readonly can?: Ability | undefined;
}

/** Available models first, then in the given order. `key` restricts them to the key's models. */
export function filterModels(
  models: readonly ModelView[],
  { search, can, ...sorting }: ModelFilter,
  key: Pick<KeyView, 'models'> | undefined,
): readonly ModelView[] {
  const { by, order } = chosenSorting<ModelSort>(sorting, SORTABLE_MODELS);
  return findModels(sortRows(models, order, SORT_VALUES[by]), search)
    .filter((model) => can === undefined || abilitiesOf(model).includes(can))
    .filter(({ id }) => key?.models === undefined || key.models.includes(id))
    .toSorted((a, b) => rank(a) - rank(b));
}

export function findModels<M extends Pick<ModelView, 'id'>>(models: readonly M[], search = ''): readonly M[] {
  const words = search.toLowerCase().split(/\s+/);
  return models.filter(({ id }) => words.every((word) => id.toLowerCase().includes(word)));
}

function abilitiesOf({ capabilities, reasoningEfforts }: ModelView): readonly string[] {
  return reasoningEfforts.length === 0 ? capabilities : [...capabilities, 'reasoning'];
}

/** False for embedding models, which cannot chat. */
export function chats({ capabilities }: Pick<ModelView, 'capabilities'>): boolean {
  return !capabilities.includes('embeddings');
}

/** False for prices that an embedding model never charges: it has input alone. */
export function hasPrice(model: Pick<ModelView, 'capabilities'>, field: PriceField): boolean {
  return field === 'inputPicoUsd' || chats(model);
}

/** A model for the first request with a key, or undefined. */
export function modelToTry(models: readonly ModelView[], key: Pick<KeyView, 'models'>): string | undefined {
  return cheapest(filterModels(models, {}, key))?.id ?? key.models?.[0];
}

export function cheapest(models: readonly ModelView[]): ModelView | undefined {
  const [first] = models
    .filter((model) => model.state === 'available' && chats(model))
    .toSorted((a, b) => Number(priceOf(a) - priceOf(b)));
  return first;
}

/** Price of a typical chat, which has about three input tokens for each output token. */
function priceOf({ priceTable: { prices } }: Pick<ModelView, 'priceTable'>): bigint {
  return 3n * BigInt(prices.inputPicoUsd) + BigInt(prices.outputPicoUsd);
}

function rank({ state }: ModelView): number {
  return state === 'available' ? 0 : 1;
}
