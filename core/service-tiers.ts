/** Names of service tiers, as clients ask for them and as providers report the one that served. */

/** Name of the tier that a price table itself prices. */
export const DEFAULT_TIER = 'default';

/**
 * Names of OpenAI, Anthropic, Google and Groq for their ordinary service
 * (https://console.groq.com/docs/service-tiers). They are matched in any case, with "-" or "_".
 */
const ORDINARY: ReadonlySet<string> = new Set([DEFAULT_TIER, 'auto', 'standard', 'standard_only', 'on_demand']);

/** Two names of the same service. Price lists and responses have one or the other. */
export const TWIN_TIERS: ReadonlyMap<string, string> = new Map([
  ['priority', 'fast'],
  ['fast', 'priority'],
]);

/** A price table with tiers. Its own prices are those of the default tier. */
type Tiered<Prices> = NoInfer<Prices> & { readonly serviceTiers: ReadonlyMap<string, Prices> };

export interface TableTier<Prices> {
  /** The table's name for it. Absent: the default tier. */
  readonly name?: string;
  readonly prices: Prices;
}

/**
 * The tier that a name means in a table: the one with that name, or else its twin, or else the
 * default one if the name means ordinary service. `undefined`: the table does not know the name.
 */
export function tierIn<Prices>(table: Tiered<Prices>, name: string | undefined): TableTier<Prices> | undefined {
  if (name === undefined) return { prices: table };
  for (const known of [name, TWIN_TIERS.get(name)]) {
    const prices = known === undefined ? undefined : table.serviceTiers.get(known);
    if (known !== undefined && prices !== undefined) return { name: known, prices };
  }
  return ORDINARY.has(name.toLowerCase().replaceAll('-', '_')) ? { prices: table } : undefined;
}

/** True if a client may ask for the tier. Providers' other names for ordinary service are not. */
export function mayAskFor<Prices>(table: Tiered<Prices>, tier: string): boolean {
  return tier === DEFAULT_TIER || tierIn(table, tier)?.name !== undefined;
}

/** A tier's name for metrics. Providers can send any text, so others become `other`. */
export function tierWord(tier: string): string {
  return /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(tier) ? tier : 'other';
}
