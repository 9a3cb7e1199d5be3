/** Kinds of counted tokens, from which columns, responses, CSV files and logged charges follow. */
export const TOKEN_KINDS = {
  promptTokens: { column: 'prompt_tokens', shownAs: 'tokens_prompt' },
  completionTokens: { column: 'completion_tokens', shownAs: 'tokens_completion' },
  /** Part of the prompt. */
  cachedTokens: { column: 'cached_tokens', shownAs: 'tokens_cached' },
  /** Part of the prompt. */
  cacheWriteTokens: { column: 'cache_write_tokens', shownAs: 'tokens_cache_write' },
  /** Part of the cache writes, so the API does not show them apart. */
  cacheWrite1hTokens: { column: 'cache_write_1h_tokens', shownAs: undefined },
  /** Part of the completion. */
  reasoningTokens: { column: 'reasoning_tokens', shownAs: 'tokens_reasoning' },
} as const;

export type TokenKind = keyof typeof TOKEN_KINDS;

interface PriceKind {
  /** Name in the configuration, in the model catalogue and in `GET /v1/models`. */
  readonly name: string;
  readonly column: string;
  /** The price that applies if this one is not configured. Absent: it must be configured. */
  readonly fallsBackTo?: string;
  /** Tokens that are charged at this price: those of one kind, without those of others. */
  readonly tokens: TokenKind;
  readonly without: readonly TokenKind[];
  /** Which bound of a request limits these tokens while nothing has been delivered. */
  readonly atMost: 'input' | 'output';
  /** Column heading of a price list. */
  readonly heading: string;
  /** Label of a line of a charge. */
  readonly label: string;
  /** Within a sentence: `Price of cached input differs`. */
  readonly words: string;
}

/**
 * The prices of one entry of a price table, each with the tokens that it prices. The formula of a
 * charge in the process and in SQL, price tables and their labels follow from this list.
 */
export const PRICE_KINDS = {
  inputPicoUsd: {
    name: 'input',
    column: 'input_pico_usd',
    tokens: 'promptTokens',
    without: ['cachedTokens', 'cacheWriteTokens'],
    atMost: 'input',
    heading: 'Input',
    label: 'Uncached input',
    words: 'input',
  },
  cachedInputPicoUsd: {
    name: 'cached_input',
    column: 'cached_input_pico_usd',
    fallsBackTo: 'input',
    tokens: 'cachedTokens',
    without: [],
    atMost: 'input',
    heading: 'Cached',
    label: 'Cached input',
    words: 'cached input',
  },
  cacheWritePicoUsd: {
    name: 'cache_write',
    column: 'cache_write_pico_usd',
    fallsBackTo: 'input',
    tokens: 'cacheWriteTokens',
    without: ['cacheWrite1hTokens'],
    atMost: 'input',
    heading: 'Cache write',
    label: 'Cache writes, 5 min',
    words: 'cache writes',
  },
  cacheWrite1hPicoUsd: {
    name: 'cache_write_1h',
    column: 'cache_write_1h_pico_usd',
    fallsBackTo: 'cache_write',
    tokens: 'cacheWrite1hTokens',
    without: [],
    atMost: 'input',
    heading: '1 h write',
    label: 'Cache writes, 1 h',
    words: 'cache writes for an hour',
  },
  outputPicoUsd: {
    name: 'output',
    column: 'output_pico_usd',
    tokens: 'completionTokens',
    without: [],
    atMost: 'output',
    heading: 'Output',
    label: 'Output',
    words: 'output',
  },
} as const satisfies Readonly<Record<string, PriceKind>>;

export type PriceField = keyof typeof PRICE_KINDS;
/** A price as the configuration names it, such as `cached_input`. */
export type PriceName = (typeof PRICE_KINDS)[PriceField]['name'];

/** Names of the prices that a table may leave out. */
export type OptionalPriceName = Extract<(typeof PRICE_KINDS)[PriceField], { fallsBackTo: string }>['name'];

export const OPTIONAL_PRICES = Object.values(PRICE_KINDS).flatMap((kind) => ('fallsBackTo' in kind ? [kind.name] : []));

export const PRICE_FIELDS = Object.keys(PRICE_KINDS) as readonly PriceField[];
export const TOKEN_NAMES = Object.keys(TOKEN_KINDS) as readonly TokenKind[];

export function byTokens<T>(of: (kind: TokenKind) => T): Record<TokenKind, T> {
  return Object.fromEntries(TOKEN_NAMES.map((kind) => [kind, of(kind)])) as Record<TokenKind, T>;
}

export function byPrice<T>(of: (field: PriceField) => T): Record<PriceField, T> {
  return Object.fromEntries(PRICE_FIELDS.map((field) => [field, of(field)])) as Record<PriceField, T>;
}

/** Prices by their names in the configuration. A price that is left out falls back to another. */
export type NamedPrices<T> = Readonly<Record<Exclude<PriceName, OptionalPriceName>, T>> &
  Readonly<Partial<Record<OptionalPriceName, T>>>;

/** Fills in omitted prices. The list has each price after the one to which it falls back. */
export function filledPrices<T extends number | bigint>(
  given: {
    readonly [Name in PriceName]?: T | undefined;
  },
): Readonly<Record<PriceName, T>> {
  const filled: Partial<Record<PriceName, T>> = {};
  for (const kind of Object.values<PriceKind & { readonly name: PriceName }>(PRICE_KINDS)) {
    const value =
      given[kind.name] ?? (kind.fallsBackTo === undefined ? undefined : filled[kind.fallsBackTo as PriceName]);
    if (value !== undefined) filled[kind.name] = value;
  }
  return filled as Record<PriceName, T>;
}
