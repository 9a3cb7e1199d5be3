import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { runCommandLine } from '../command-line.ts';

const folder = mkdtempSync(join(tmpdir(), 'gw-check-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function checked(prices: string, more = '', priceLists = '{}'): Promise<{ json: unknown; text: string }> {
  const file = join(folder, 'gateway.yaml');
  const model = (id: string, provider: string, name: string) =>
    `  ${id}: {context_window: 1000, max_output_tokens: 100, ${more}usd_per_million_tokens: ${prices}, targets: [{provider: ${provider}, model: ${name}}]}`;
  const text = [
    'demo: false',
    'providers:',
    '  mine: {base_url: https://api.anthropic.com/v1, api: anthropic, api_key: key}',
    '  other: {base_url: https://example.com/v1, api_key: key}',
    'models:',
    model('claude', 'mine', 'claude-sonnet-5-5'),
    model('unknown', 'other', 'claude-sonnet-5-5'),
    `price_lists: ${priceLists}`,
  ];
  writeFileSync(file, text.join('\n'));
  const result = await runCommandLine(['check-config', file], { KEY: 'key' });
  if (result.kind !== 'done') throw new Error(result.message);
  return { json: result.json, text: result.text };
}

it.each([
  ['{input: 2, output: 10}', 'no cache_write and no cache_write_1h'],
  ['{input: 2, cache_write: 2.5, output: 10}', 'no cache_write_1h'],
  ['{input: 2, cache_write_1h: 4, output: 10}', 'no cache_write'],
])('a model with %s is told that it has %s', async (prices, lacking) => {
  const { json, text } = await checked(prices);
  const message = `models.claude: has ${lacking}, which anthropic/claude-sonnet-5-5 bills; models check shows its prices`;
  expect(json).toMatchObject({ ok: true, warnings: [{ line: 6, message }] });
  expect(json).toHaveProperty('warnings.length', 1);
  expect(text).toContain(`warning: ${join(folder, 'gateway.yaml')}:6:`);
});

it('warns at its position of a table that lacks a price of the table it replaces', async () => {
  const long = '{input_tokens: 200, input: 4, output: 20}';
  const whole = `input: 2, cached_input: 0.2, cache_write: 2.5, cache_write_1h: 4, output: 10`;
  const prices = [
    `{${whole}, above: [${long}]`,
    `hours: [{utc: "01:00-02:00", input: 1, cached_input: 0.1, cache_write: 1, cache_write_1h: 1, output: 5}]`,
    `from: {2027-01-01: {input: 3, cache_write: 3, cache_write_1h: 3, output: 15, above: [${long}]}}}`,
  ].join(', ');
  const { json } = await checked(prices);
  const told = (json as { warnings: readonly { message: string; line: number }[] }).warnings;
  const at = (id: string, place: string, lacking: string) =>
    `models.${id}.usd_per_million_tokens.${place}: has no ${lacking}, unlike the table that it replaces`;
  const ofModel = (id: string) => [
    at(id, 'above[0]', 'cached_input and no cache_write and no cache_write_1h'),
    at(id, 'hours[0]', 'above'),
    at(id, 'from.2027-01-01', 'cached_input'),
    at(id, 'from.2027-01-01.above[0]', 'cache_write and no cache_write_1h'),
  ];
  expect(told.map(({ message }) => message)).toEqual([...ofModel('claude'), ...ofModel('unknown')]);
  expect(told.map(({ line }) => line)).toEqual([6, 6, 6, 6, 7, 7, 7, 7]);
});

it("compares a table of a price list with the model's table", async () => {
  const prices = '{input: 2, cached_input: 0.2, cache_write: 2.5, cache_write_1h: 4, output: 10}';
  const lists = `{a: {claude: {input: 1, cached_input: 0.1, output: 5}, "*": {percent: -5}}, b: {unknown: ${prices}}}`;
  const message = 'price_lists.a.claude: has no cache_write and no cache_write_1h, unlike the table that it replaces';
  expect((await checked(prices, '', lists)).json).toMatchObject({ ok: true, warnings: [{ line: 8, message }] });
  expect((await checked(prices, '', lists)).json).toHaveProperty('warnings.length', 1);
});

it.each([
  ['{input: 2, cache_write: 2.5, cache_write_1h: 4, output: 10}', ''],
  ['{input: 2, output: 10, service_tiers: {batch: {input: 1, cache_write: 1, cache_write_1h: 2, output: 5}}}', ''],
  ['{input: 2, output: 10}', 'disabled: true, '],
])('a model with %s%s is not warned of', async (prices, more) => {
  expect((await checked(prices, more)).json).not.toHaveProperty('warnings');
});
