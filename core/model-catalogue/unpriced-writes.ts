import type { DeclaredModels } from '../config/load.ts';
import type { RuleProblem } from '../config/problem.ts';
import type { ShippedCatalogue } from './catalogue.ts';
import { knownTargets } from './model-differences.ts';

const KINDS = ['cache_write', 'cache_write_1h'] as const;

/**
 * Models without a price for cache writes that the catalogue says a target's provider bills. Some
 * providers write their cache without being asked.
 */
export function unpricedWrites(declared: DeclaredModels, catalogue: ShippedCatalogue): readonly RuleProblem[] {
  return knownTargets(declared, catalogue).flatMap(({ model, entry }) => {
    const billed = entry.usd_per_million_tokens;
    const own = model.usd_per_million_tokens;
    const lacking = KINDS.filter(
      (kind) =>
        entriesOf(billed).some((one) => one[kind] !== undefined) &&
        entriesOf(own).every((one) => one[kind] === undefined),
    );
    if (lacking.length === 0) return [];
    const message = `has no ${lacking.join(' and no ')}, which ${entry.id} bills; models check shows its prices`;
    return [{ path: ['models', model.id], message }];
  });
}

type Entry = Readonly<Partial<Record<(typeof KINDS)[number], unknown>>>;
type Tier = Entry & { readonly above?: readonly Entry[] };

/** Every entry of a price table: its own, those of longer prompts, and those of its tiers. */
function entriesOf(table: Tier & { readonly service_tiers?: Readonly<Record<string, Tier>> }): readonly Entry[] {
  return [table, ...Object.values(table.service_tiers ?? {})].flatMap((tier) => [tier, ...(tier.above ?? [])]);
}
