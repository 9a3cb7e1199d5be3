import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { DAY_MS } from '#core/clock.ts';
import { loadConfig } from '#core/config/load.ts';
import { shippedCatalogue } from '#core/model-catalogue/catalogue.ts';
import { lookAtModels } from './models.ts';

const folder = mkdtempSync(join(tmpdir(), 'gw-doctor-models-'));
afterAll(() => rmSync(folder, { recursive: true }));

async function found(models: string, today: string): Promise<readonly string[]> {
  const file = join(folder, 'gateway.yaml');
  writeFileSync(
    file,
    `providers: {openai: {base_url: "https://api.openai.com/v1"}, google: {base_url: "https://generativelanguage.googleapis.com/v1beta/openai"}, mistral: {base_url: "https://api.mistral.ai/v1"}}\nmodels: {${models}}\n`,
  );
  const loaded = await loadConfig(file, {}, { secrets: 'checked' });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  const findings = await lookAtModels(loaded.declared, Date.parse(today));
  return findings.map(({ verdict, check, found }) => `${verdict} ${check}: ${found}`);
}

const model = (name: string, usd: string, window = 1000) =>
  `{context_window: ${window}, max_output_tokens: 100, usd_per_million_tokens: ${usd}, targets: [{provider: openai, model: ${name}}]}`;

it('finds nothing for models that equal the catalogue or are not in it', async () => {
  const tiers = 'service_tiers: {priority: {input: 3.5, cached_input: 0.875, output: 14}}';
  const models = `a: ${model('gpt-4.1', `{input: 2, cached_input: 0.5, output: 8, ${tiers}}`)}, b: ${model('mine', '{input: 0, output: 0}')}`;
  expect(await found(models, '2026-11-01')).toEqual([
    expect.stringMatching(/^ok models: no differences from the model catalogue of \d{4}-\d\d-\d\d$/),
  ]);
});

it('warns once for each model of what models check reports, and of its shutdown', async () => {
  const tiers = 'service_tiers: {flex: {input: 9, output: 9}, priority: {input: 9, output: 9}}';
  const models = `a: ${model('gpt-4.1', '{input: 1, cached_input: 0.1, output: 8}', 9_000_000)}, b: ${model('gpt-5-mini', `{input: 9, output: 9, ${tiers}}`)}`;
  const drift =
    'warning models: a: usd_per_million_tokens.input is 1, the model catalogue has 2, and 3 more differences';
  expect(await found(models, '2026-10-11')).toEqual([drift]);
  const coming = 'warning models: b will be shut down by its provider on 2026-12-11';
  expect(await found(models, '2026-10-12')).toEqual([drift, coming]);
  const past = 'warning models: b has been shut down by its provider on 2026-12-11';
  const alsoComing = 'warning models: a will be shut down by its provider on 2027-01-14';
  expect(await found(models, '2026-12-11')).toEqual([alsoComing, drift, past]);
});

it('warns of a service tier without a price', async () => {
  const models = `a: ${model('gpt-4.1', '{input: 2, cached_input: 0.5, output: 8}')}`;
  expect(await found(models, '2026-11-01')).toEqual([
    'warning models: a: usd_per_million_tokens.service_tiers.priority is missing, the model catalogue has input 3.5, output 14',
  ]);
});

it('reports a price change that the configuration lacks as a problem, and lists disputed prices', async () => {
  const argon = model('gemini-4-argon', '{input: 2, cached_input: 0.1, output: 10}').replace('openai', 'google');
  const nemo = model('open-mistral-nemo', '{input: 1, output: 1}').replace('openai', 'mistral');
  const dispute = (kind: string) =>
    `ok models: b: the sources of the catalogue disagree about ${kind}: it has 0.15, the other source says 0.3.`;
  expect(await found(`a: ${argon}, b: ${nemo}`, '2026-11-24')).toEqual([
    'problem models: a: usd_per_million_tokens.from.2026-12-01 is missing, the model catalogue has input 4, output 20',
    dispute('input'),
    dispute('output'),
  ]);
  const cheap = argon.replace('input: 2', 'input: 1');
  expect(await found(`a: ${cheap}`, '2026-11-24')).toEqual([
    expect.stringMatching(/^problem models: a: usd_per_million_tokens.from.2026-12-01 is missing/),
    'warning models: a: usd_per_million_tokens.input is 1, the model catalogue has 2',
  ]);
});

it('warns of a catalogue that is more than 60 days old', async () => {
  const asOfMs = Date.parse((await shippedCatalogue()).as_of);
  const foundAfter = (days: number) => found('', new Date(asOfMs + days * DAY_MS).toISOString());
  expect(await foundAfter(60)).toHaveLength(1);
  expect(await foundAfter(61)).toEqual([
    expect.stringMatching(/^ok models: no differences/),
    'warning models: the model catalogue is 61 days old: it lacks later prices and shutdowns',
  ]);
});
