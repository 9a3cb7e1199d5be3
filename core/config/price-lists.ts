import { z } from 'zod';
import { PRICE_LIST_NAME } from '../field-bounds.ts';
import type { PercentChange, PriceList } from '../price-list.ts';
import { percentOf, tablesOf } from '../price-schedule.ts';
import type { PriceTable } from '../pricing.ts';
import { lackingPrices } from './lacking-prices.ts';
import {
  buildPriceSchedule,
  checkPriceSchedule,
  modelPrices,
  priceSchedule,
  type ScheduleEntry,
} from './price-schedule.ts';
import type { RuleProblem } from './problem.ts';
import { MAX_PRICE_PICO_USD, parsePercent } from './quantities.ts';
import { matching, named, read, section } from './schema-fields.ts';
import type { Path } from './yaml-tree.ts';

/** Prices of organizations that have a list (`price_lists`). */

const MAX_LISTS = 100;
/** Most tables of all lists. Each process reports them in one row (process-reports.ts). */
const MAX_TABLES = 2000;
/** Name of the models that a list does not name. */
const OTHERS = '*';

const LIST_NAME =
  'the name of a price list: 1 to 64 letters, digits, "_" and "-", beginning with a letter or digit, and not none';
const listName = matching(PRICE_LIST_NAME, LIST_NAME);

const percentage = section({
  percent: read('a percentage above -100 and at most 1000 with at most 4 decimals, such as -10', parsePercent),
});
const listed = z.union([percentage, priceSchedule], {
  error: 'must be a change such as {percent: -10}, or a table such as {input: 1, output: 5}',
});

export const priceLists = named(
  listName,
  named(z.string(), listed, 'the id of a model, or "*" for the others'),
  LIST_NAME,
);

type ListsEntry = z.output<typeof priceLists>;
type ListedEntry = z.output<typeof listed>;

type ModelEntries = Readonly<Record<string, { readonly usd_per_million_tokens: ScheduleEntry }>>;

/** `models`: every model of the file. A list may not name any other. */
export function checkPriceLists(lists: ListsEntry = {}, models: ModelEntries): RuleProblem[] {
  const highest = highestPrices(models);
  const problems = Object.entries(lists).flatMap(([list, entries]) =>
    Object.entries(entries).flatMap(([id, entry]) => {
      const path = ['price_lists', list, id];
      if (id !== OTHERS && !Object.hasOwn(models, id)) return [{ path, message: 'is not a model of this file' }];
      if ('percent' in entry) return checkPercent(path, entry, changedBy(entries, id, models), highest);
      if (id !== OTHERS) return checkPriceSchedule(path, entry);
      return [{ path, message: 'must be a change such as {percent: -10}; a table is for one model' }];
    }),
  );
  if (Object.keys(lists).length > MAX_LISTS)
    problems.push({ path: ['price_lists'], message: `must have at most ${MAX_LISTS} lists` });
  const tables = Object.values(lists).flatMap((entries) => Object.values(entries).filter((one) => !('percent' in one)));
  if (tables.length > MAX_TABLES)
    problems.push({ path: ['price_lists'], message: `must have at most ${MAX_TABLES} tables in all its lists` });
  return problems;
}

function changedBy(entries: ListsEntry[string], id: string, models: ModelEntries): readonly string[] {
  return id === OTHERS ? Object.keys(models).filter((model) => !Object.hasOwn(entries, model)) : [id];
}

function checkPercent(
  path: Path,
  { percent }: z.output<typeof percentage>,
  models: readonly string[],
  highest: (model: string) => bigint,
): RuleProblem[] {
  const beyond =
    percent <= 0 ? undefined : models.find((model) => percentOf(highest(model), percent) > MAX_PRICE_PICO_USD);
  if (beyond === undefined) return [];
  return [{ path: [...path, 'percent'], message: `raises a price of ${beyond} above 1000000 USD per million tokens` }];
}

/** Returns a function for the highest price of a model, which computes it once. */
function highestPrices(models: ModelEntries): (model: string) => bigint {
  const known = new Map<string, bigint>();
  return (model) => {
    const entry = models[model]?.usd_per_million_tokens;
    const highest = known.get(model) ?? (entry === undefined ? 0n : highestOf(tablesOf(buildPriceSchedule(entry))));
    known.set(model, highest);
    return highest;
  };
}

function highestOf(tables: readonly PriceTable[]): bigint {
  const tiers = tables.flatMap(({ serviceTiers, ...table }) => [table, ...serviceTiers.values()]);
  return tiers
    .flatMap(({ prices, above }) => [prices, ...above.map((entry) => entry.prices)])
    .flatMap((prices): readonly bigint[] => Object.values({ ...prices }))
    .reduce((most, price) => (price > most ? price : most), 0n);
}

/** Warns of tables that lack a price which the model's own table has. */
export function lackingListPrices(lists: ListsEntry, models: ModelEntries): readonly RuleProblem[] {
  return Object.entries(lists).flatMap(([list, entries]) =>
    Object.entries(entries).flatMap(([id, entry]) => {
      const own = models[id]?.usd_per_million_tokens;
      return 'percent' in entry || own === undefined ? [] : lackingPrices(['price_lists', list, id], entry, own);
    }),
  );
}

export function buildPriceLists(lists: ListsEntry): ReadonlyMap<string, PriceList> {
  return new Map(Object.entries(lists).map(([name, entries]) => [name, priceListOf(entries)]));
}

function priceListOf({ [OTHERS]: others, ...models }: ListsEntry[string]): PriceList {
  const listedOf = (entry: ListedEntry) => ('percent' in entry ? changeOf(entry) : modelPrices(entry));
  return {
    ...(others !== undefined && 'percent' in others ? { others: changeOf(others) } : {}),
    models: new Map(Object.entries(models).map(([id, entry]) => [id, listedOf(entry)])),
  };
}

function changeOf({ percent }: z.output<typeof percentage>): PercentChange {
  return { percentParts: percent };
}
