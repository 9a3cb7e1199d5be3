import type { CatalogueDifference } from '../../../contract/operator.ts';
import { formatUtcDay } from '../../format/format-instant.ts';
import { formatPricePerMillion } from '../../format/format-money.ts';
import { formatCount } from '../../format/format-number.ts';
import { priceEntryLabel } from '../../models/price-labels.ts';

const TABLES: Readonly<Record<string, (kind: string) => string>> = {
  usd_per_million_tokens: (kind) => `Price of ${kind} is lower`,
  cost_usd_per_million_tokens: (kind) => `Cost of ${kind} differs`,
};
const WITHOUT_TIER: Readonly<Record<string, string>> = {
  usd_per_million_tokens: 'No price',
  cost_usd_per_million_tokens: 'No cost',
};
const LIMITS: Readonly<Record<string, string>> = {
  context_window: 'Context window is larger',
  max_output_tokens: 'Output limit is larger',
  longest_prompt: 'Longest prompt is shorter',
};
const KINDS: Readonly<Record<string, string>> = {
  input: 'input',
  cached_input: 'cached input',
  cache_write: 'cache writes',
  cache_write_1h: 'cache writes for an hour',
  output: 'output',
};
const TIER = /^(\w+)\.service_tiers\.([\w-]+)$/;
const PLACE = /^(\w+)\.(?:service_tiers\.([\w-]+)\.)?(?:above\.(\d+)\.)?(\w+)$/;

export interface DifferenceLabel {
  readonly what: string;
  /** Price entry, unless it is the base one. */
  readonly entry?: string;
}

/** Words for a difference. A field of a later release keeps its own name. */
export function differenceLabel({ field }: Pick<CatalogueDifference, 'field'>): DifferenceLabel {
  if (field === SHUTDOWN) return { what: 'Shutdown' };
  const limit = LIMITS[field];
  if (limit !== undefined) return { what: limit };
  const [, lacking = '', missing] = TIER.exec(field) ?? [];
  const without = WITHOUT_TIER[lacking];
  if (without !== undefined) return { what: without, entry: priceEntryLabel(missing, undefined) };
  const [, name = '', tier, above, kind = ''] = PLACE.exec(field) ?? [];
  const table = TABLES[name];
  if (table === undefined) return { what: field };
  const what = table(KINDS[kind] ?? kind);
  if (tier === undefined && above === undefined) return { what };
  return { what, entry: priceEntryLabel(tier, above === undefined ? undefined : Number(above)) };
}

export const SHUTDOWN = 'shutdown_date';

/** A price in dollars per million tokens, a number of tokens, a day, or prices of a tier. */
export function differenceValue(field: string, value: number | string | null): string {
  if (value === null) return 'None';
  if (typeof value === 'string') return field === SHUTDOWN ? formatUtcDay(value) : value;
  return field in LIMITS ? formatCount(value) : formatPricePerMillion(String(Math.round(value * 1e6)));
}
