import type { ProviderView } from '#contract/operator.ts';
import { countOf } from '#core/count-of.ts';
import type { Difference } from '#core/model-catalogue/comparison.ts';
import { PRICE_KINDS } from '#core/price-kinds.ts';
import { formatCount, formatPercent, formatPricePerMillion, formatUtcDay } from '../../format/format.ts';
import { priceEntryLabel } from '../../models/model-labels.ts';

const TABLES: Readonly<Record<string, { readonly missing: string; readonly of: (kind: string) => string }>> = {
  usd_per_million_tokens: { missing: 'No price', of: (kind) => `Price of ${kind} is lower` },
  cost_usd_per_million_tokens: { missing: 'No cost', of: (kind) => `Cost of ${kind} differs` },
};
const LIMITS: Readonly<Record<string, string>> = {
  context_window: 'Context window is larger',
  max_output_tokens: 'Output limit is larger',
  longest_prompt: 'Longest prompt is shorter',
};
const KINDS: Readonly<Record<string, string>> = Object.fromEntries(
  Object.values(PRICE_KINDS).map(({ name, words }) => [name, words]),
);
/** Splits a difference's field into table, day or moment when it applies, hours, and the rest. */
const PLACE = /^(\w+?)(?:\.from\.(\d{4}-\d\d-\d\d)(?:T[\d:.+-]+Z?)?)?(?:\.hours\.(\d\d:\d\d-\d\d:\d\d))?(?:\.(.+))?$/;
/** A tier, a prompt length, and a kind of price. Without a kind the whole entry is missing. */
const ENTRY = /^(?:service_tiers\.([\w-]+)(?:\.|$))?(?:above\.(\d+)\.)?(\w+)?$/;

/**
 * Text for a difference, with its price entry unless that is the base entry. Fields of a newer
 * release are shown by their own name.
 */
export function differenceLabel({ field }: Pick<Difference, 'field'>): { what: string; entry?: string } {
  if (field === SHUTDOWN) return { what: 'Shutdown' };
  const limit = LIMITS[field];
  if (limit !== undefined) return { what: limit };
  const [, name = '', from, utc, rest = ''] = PLACE.exec(field) ?? [];
  const table = TABLES[name];
  const place = ENTRY.exec(rest);
  if (table === undefined || place === null) return { what: field };
  const [, tier, above, kind] = place;
  const what = kind === undefined ? table.missing : table.of(KINDS[kind] ?? kind);
  const entry = [
    ...(from === undefined ? [] : [`From ${formatUtcDay(from)}`]),
    ...(utc === undefined ? [] : [`${utc} UTC`]),
    ...(tier === undefined && above === undefined
      ? []
      : [priceEntryLabel(tier, above === undefined ? undefined : Number(above))]),
  ].join(': ');
  return entry === '' ? { what } : { what, entry };
}

/** Text for a disputed kind of price, or for disputed prompt lengths. */
export function disputeLabel(field: string): string {
  if (field === 'above') return 'Prompt lengths with other prices';
  return `Price of ${KINDS[field] ?? field}`;
}

export const SHUTDOWN = 'shutdown_date';

/** Dollars per million tokens, a number of tokens, a day, or the names of missing prices. */
export function differenceValue(field: string, value: number | string | null): string {
  if (value === null) return 'None';
  if (typeof value === 'string') return field === SHUTDOWN ? formatUtcDay(value) : value;
  return field in LIMITS ? formatCount(value) : formatPricePerMillion(String(Math.round(value * 1e6)));
}

interface HealthLabel {
  readonly tone: 'neutral' | 'good' | 'warn' | 'bad';
  readonly state: string;
  readonly detail: string;
}

const FAILING_FRACTION = 0.05;

export function healthOf({ ejected, attempts, failures, restingTargets }: ProviderView): HealthLabel {
  const asked =
    attempts === 0
      ? 'not called in the last 5 minutes'
      : `${formatCount(failures)} of ${countOf(attempts, 'attempt')} failed (${formatPercent(failures / attempts)})`;
  const detail = restingTargets === 0 ? asked : `${asked}, ${countOf(restingTargets, 'target')} resting`;
  if (ejected) return { tone: 'bad', state: 'Ejected', detail };
  if (attempts === 0) return { tone: 'neutral', state: 'Idle', detail };
  return failures / attempts >= FAILING_FRACTION
    ? { tone: 'warn', state: 'Failing', detail }
    : { tone: 'good', state: 'Healthy', detail };
}

const ABOUT_ACCOUNT: Readonly<Record<string, string>> = {
  auth: ': our key or permissions',
  funds: ': our balance or quota',
};

/** Readable form of a result such as `status_503`. */
export function failureLabel(result: string): string {
  const status = /^status_(\d{3})(?:_(auth|funds))?$/.exec(result);
  return status ? `status ${status[1]}${ABOUT_ACCOUNT[status[2] ?? ''] ?? ''}` : result.replaceAll('_', ' ');
}
