import { expect, it } from 'vitest';
import { configFolder, MODEL, oneModel } from './load.fixture.ts';

const folder = configFolder();
const TARGETS = '[{provider: p, model: x}]';
const IDS = Array.from({ length: 21 }, (_, index) => `m${index}`);

function withLists(count: number): string {
  const models = IDS.map((id) => `  ${id}: {${MODEL}, targets: ${TARGETS}}\n`).join('');
  const tables = IDS.map((id) => `${id}: {input: 1, output: 2}`).join(', ');
  const lists = Array.from({ length: count }, (_, index) => `  list${index}: {${tables}, m: {percent: -1}}\n`);
  return `${oneModel(TARGETS, '  p: {base_url: http://127.0.0.1:9/}')}${models}price_lists:\n${lists.join('')}`;
}

it('bounds the tables of all price lists, which each process reports in one row', async () => {
  expect(await folder.messages(withLists(95))).toEqual([]);
  const beyond = 'price_lists: must have at most 2000 tables in all its lists';
  expect(await folder.messages(withLists(96))).toEqual([expect.stringContaining(beyond)]);
});

const HOURS = (prices: string) => `hours: [{utc: "01:00-04:00", input: 1, output: 2, ${prices}}]`;
const FROM = (prices: string) => `from: {2026-12-01: {input: 1, output: 2, ${prices}}}`;
const ABOVE = 'above: [{input_tokens: 9, input: 1, output: 2}]';
const TIERS = 'service_tiers: {flex: {input: 1, output: 2}, fast: {input: 3, output: 4}}';
const PRIORITY = 'service_tiers: {priority: {input: 3, output: 4}}';

it.each([
  ['the same table', ABOVE, ABOVE, []],
  ['a price in the table', 'cache_write: 3', '', ['cache_write']],
  ['a price in later tables', FROM('cached_input: 1, cache_write: 3'), '', ['cached_input', 'cache_write']],
  ['a price in a window', HOURS('cache_write: 3'), '', ['cache_write']],
  ['long prompts in a window', HOURS(ABOVE), '', ['above']],
  ['a price in a window of each', HOURS('cache_write: 3'), HOURS('cache_write: 3'), []],
  ['a price that the list has always', HOURS('cache_write: 3'), 'cache_write: 3', []],
  ['tiers', TIERS, 'service_tiers: {flex: {input: 1, output: 2}}', ['service_tiers.fast']],
  ['a tier that the list has by its other name', PRIORITY, 'service_tiers: {fast: {input: 1, output: 2}}', []],
  ['a later tier that it has so', FROM(PRIORITY), 'service_tiers: {fast: {input: 1, output: 2}}', []],
  ['tiers in a later table', FROM(TIERS), '', ['service_tiers.flex', 'service_tiers.fast']],
])('tells of what a list lacks: %s', async (_, own, listed, lacking) => {
  const table = (prices: string) => `{input: 0.25, output: 2${prices && `, ${prices}`}}`;
  const text = oneModel(TARGETS, '  p: {base_url: http://127.0.0.1:9/}').replace(/\{input: 0.25[^}]*\}/, table(own));
  const { warnings } = await folder.loaded(`${text}price_lists:\n  list: {m: ${table(listed)}}\n`);
  const told = warnings.map(({ message }) => message).filter((message) => message.startsWith('price_lists'));
  expect(told).toEqual(
    lacking.length === 0
      ? []
      : [`price_lists.list.m: has no ${lacking.join(' and no ')}, unlike the table that it replaces`],
  );
});
