import { DAY_MS } from '../clock.ts';
import type { DeclaredModels } from '../config/load.ts';
import type { ScheduleEntry } from '../config/price-schedule.ts';
import type { RuleProblem } from '../config/problem.ts';
import { fixesServiceTier } from '../config/request-shaping.ts';
import type { ShippedCatalogue } from './catalogue.ts';
import { type CatalogueModel, type CatalogueTable, DISPUTABLE, type Disputed } from './catalogue-model.ts';
import type { Comparison, Difference, Dispute } from './comparison.ts';
import { type ConfiguredModel, configuredModels, usdSchedule } from './configured-model.ts';
import { missingTiers, priceDifferences, type TableDifference } from './price-differences.ts';
import { scheduleDifferences } from './schedule-differences.ts';

/** A shutdown is reported this long before its day. */
const SHUTDOWN_NOTICE_MS = 60 * DAY_MS;
const OLD_DAYS = 60;

/**
 * Compares every model with the entries of its targets: prices below the catalogue's, other costs,
 * service tiers and hours without a price, changes of prices within 30 days, limits above the
 * catalogue's, files that may be longer than the hold covers, and shutdowns. Disputed prices are
 * reported separately.
 */
export function compareModels(declared: DeclaredModels, catalogue: ShippedCatalogue, nowMs: number): Comparison {
  const known = knownTargets(declared, catalogue);
  const differences = known.flatMap(({ model, target, entry }) => {
    const servesTiers = !declared.untiered.has(target.provider) && !fixesServiceTier(target.request);
    return differencesOf({ model, target, entry, servesTiers, nowMs });
  });
  const disputed = known.flatMap(({ model, entry }) => disputesOf(model.id, entry));
  return { differences: unique(differences), disputed: unique(disputed) };
}

/** Removes duplicates: two targets of a model may have the same entry of the catalogue. */
function unique<Found>(found: readonly Found[]): readonly Found[] {
  return [...new Map(found.map((one) => [JSON.stringify(one), one])).values()];
}

interface KnownTarget {
  readonly model: ConfiguredModel;
  readonly target: ConfiguredModel['targets'][number];
  readonly entry: CatalogueModel;
}

/** Targets of enabled models that the catalogue has, with their entries. */
function knownTargets(declared: DeclaredModels, catalogue: ShippedCatalogue): readonly KnownTarget[] {
  const byId = new Map(catalogue.models.map((model) => [model.id, model]));
  return configuredModels(declared)
    .filter(({ disabled }) => !disabled)
    .flatMap((model) =>
      model.targets.flatMap((target) => {
        const entry = byId.get(`${catalogueProvider(target.provider, declared, catalogue)}/${target.model}`);
        return entry === undefined ? [] : [{ model, target, entry }];
      }),
    );
}

/** The base URL identifies a provider. Another may be a proxy's, with the provider's name. */
function catalogueProvider(name: string, { baseUrls }: DeclaredModels, catalogue: ShippedCatalogue): string {
  const url = baseUrls.get(name)?.href;
  const known = Object.entries(catalogue.providers).find(
    ([, { base_url }]) => url !== undefined && new URL(String(base_url)).href === url,
  );
  return known?.[0] ?? name;
}

interface Compared extends KnownTarget {
  readonly servesTiers: boolean;
  readonly nowMs: number;
}

function differencesOf({ model, target, entry, servesTiers, nowMs }: Compared): readonly Difference[] {
  const { context_window, longest_prompt = context_window, max_output_tokens } = model;
  const { usd_per_million_tokens: catalogue, context_window: window } = entry;
  // The window of the catalogue counts, because the configured one is only compared with an
  // estimate, and only the provider counts files.
  const differencesFrom = (entry: ScheduleEntry, differs: (configured: number, expected: number) => boolean) =>
    scheduleDifferences(usdSchedule(entry), catalogue, nowMs, (ours: CatalogueTable, theirs: CatalogueTable) => [
      ...priceDifferences(ours, theirs, window, differs),
      ...(servesTiers ? missingTiers(ours, theirs) : []),
    ]);
  const { usd_per_million_tokens: price } = model;
  const { cost_usd_per_million_tokens: cost } = target;
  const prices = differencesFrom(price, (ours, theirs) => ours < theirs);
  const costs = cost === undefined ? [] : differencesFrom(cost, (ours, theirs) => ours !== theirs);
  const limits = [
    { field: 'context_window', configured: context_window, catalogue: window },
    { field: 'max_output_tokens', configured: max_output_tokens, catalogue: entry.max_output_tokens },
  ].filter((limit) => limit.configured > limit.catalogue);
  const isShort = model.capabilities.includes('files') && longest_prompt < window;
  const differences = [
    ...placed('usd_per_million_tokens', prices),
    ...placed('cost_usd_per_million_tokens', costs),
    ...limits,
    ...(isShort ? [{ field: 'longest_prompt', configured: longest_prompt, catalogue: window }] : []),
    ...shutdownOf(entry, nowMs),
  ];
  return differences.map((one): Difference => ({ model: model.id, ...one }));
}

export function disputesOf(model: string, entry: CatalogueModel): readonly Dispute[] {
  return [...DISPUTABLE, 'above' as const].flatMap((field) => {
    const other = entry.disputed?.[field];
    if (other === undefined) return [];
    return [{ model, field, catalogue: saidOf(entry, field), other: wordsOf(other) }];
  });
}

/** A sentence for an operator. */
export function disputeInWords({ model, field, catalogue, other }: Dispute): string {
  return `${model}: the sources of the catalogue disagree about ${field}: it has ${catalogue}, the other source says ${other}.`;
}

/** `undefined`: the catalogue is recent. */
export function ageInWords({ as_of }: ShippedCatalogue, nowMs: number): string | undefined {
  const days = Math.floor((nowMs - Date.parse(as_of)) / DAY_MS);
  if (days <= OLD_DAYS) return undefined;
  return `the model catalogue is ${days} days old: it lacks later prices and shutdowns`;
}

type DisputedField = keyof Disputed;

function saidOf({ usd_per_million_tokens: table }: CatalogueModel, field: DisputedField): number | string {
  if (field !== 'above') return table[field] ?? table.input;
  return wordsOf((table.above ?? []).map(({ input_tokens }) => input_tokens));
}

function wordsOf(said: number | readonly number[]): number | string {
  if (typeof said === 'number') return said;
  return said.length === 0 ? 'no lengths' : said.join(', ');
}

function placed(place: string, differences: readonly TableDifference[]) {
  return differences.map((one) => ({ ...one, field: `${place}.${one.field}` }));
}

function shutdownOf({ shutdown_date: day }: CatalogueModel, nowMs: number) {
  if (day === undefined || Date.parse(day) > nowMs + SHUTDOWN_NOTICE_MS) return [];
  return [{ field: 'shutdown_date', configured: null, catalogue: day }];
}

const WRITES = ['cache_write', 'cache_write_1h'] as const;

/**
 * Warns of models without a price for cache writes that a target's provider bills according to the
 * catalogue. Some providers write to their cache without being asked.
 */
export function unpricedWrites(declared: DeclaredModels, catalogue: ShippedCatalogue): readonly RuleProblem[] {
  return knownTargets(declared, catalogue).flatMap(({ model, entry }) => {
    const billed = entry.usd_per_million_tokens;
    const own = model.usd_per_million_tokens;
    const lacking = WRITES.filter(
      (kind) =>
        entriesOf(billed).some((one) => one[kind] !== undefined) &&
        entriesOf(own).every((one) => one[kind] === undefined),
    );
    if (lacking.length === 0) return [];
    const message = `has no ${lacking.join(' and no ')}, which ${entry.id} bills; models check shows its prices`;
    return [{ path: ['models', model.id], message }];
  });
}

type PricedWrites = Readonly<Partial<Record<(typeof WRITES)[number], unknown>>>;
type Tier = PricedWrites & { readonly above?: readonly PricedWrites[] };

/** Every entry of a price table: its own, those of longer prompts, and those of its tiers. */
function entriesOf(table: Tier & { readonly service_tiers?: Readonly<Record<string, Tier>> }): readonly PricedWrites[] {
  return [table, ...Object.values(table.service_tiers ?? {})].flatMap((tier) => [tier, ...(tier.above ?? [])]);
}
