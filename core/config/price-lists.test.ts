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
