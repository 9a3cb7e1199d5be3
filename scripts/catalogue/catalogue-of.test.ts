import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { shippedCatalogue } from '#core/model-catalogue/catalogue.ts';
import { providerOf } from '#core/model-catalogue/catalogue-model.ts';
import { entryProblems } from '#operator/catalogue/entry-problems.ts';
import { importEntries } from '#operator/catalogue/import-entries.ts';
import { catalogueOf, SHUTDOWNS } from './catalogue-of.ts';
import { blockProviders } from './provider-blocks.ts';

const SHIPPED = await shippedCatalogue();

it('ships providers as in docs/providers.md', () => {
  expect(SHIPPED.providers).toEqual(catalogueOf(new Map(), blockProviders()).providers);
});

it('ships models that the configuration accepts, each once, in order', () => {
  const ids = SHIPPED.models.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort());
  expect(new Set(ids.map(providerOf))).toEqual(new Set(Object.keys(SHIPPED.providers)));
  for (const model of SHIPPED.models) {
    expect(entryProblems(importEntries([model], { known: SHIPPED.providers })), model.id).toEqual([]);
    expect(model.shutdown_date ?? '2026-12-11').toMatch(/^\d{4}-\d\d-\d\d$/);
  }
  expect(SHIPPED.as_of).toMatch(/^\d{4}-\d\d-\d\d$/);
});

it('names its sources with their licences', () => {
  const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const { sources } = JSON.parse(read('core/model-catalogue/models.json'));
  expect(sources).toMatchObject([{ package: 'litellm' }, { package: 'genai-prices' }]);
  const licences = read('core/model-catalogue/models.LICENSE');
  for (const { package: name, licence } of sources) {
    expect(licences).toMatch(new RegExp(`^${name}$`, 'm'));
    expect(licence).toBe('MIT');
  }
  for (const holder of ['Berri AI', 'Pydantic Services Inc.']) expect(licences).toContain(holder);
});

it('ships the shutdown dates that the map lacks, each with its source', () => {
  for (const { ids, day, source } of SHUTDOWNS) {
    expect(source).toMatch(/^https:\/\//);
    expect(ids.map((id) => SHIPPED.models.find((model) => model.id === id)?.shutdown_date)).toEqual(ids.map(() => day));
  }
});

const OPENAI = {
  litellm_provider: 'openai',
  mode: 'chat',
  input_cost_per_token: 1e-6,
  output_cost_per_token: 2e-6,
  max_input_tokens: 922_000,
  max_output_tokens: 128_000,
};
const made = (name: string, entry: object) =>
  catalogueOf(new Map([[name, { ...OPENAI, ...entry }]]), blockProviders()).models[0];

it('reads the capabilities of a model, its window, its last day, and its target', () => {
  const entry = {
    deprecation_date: '2026-12-11',
    supports_function_calling: true,
    supports_vision: true,
    supports_pdf_input: true,
    supports_reasoning: true,
    supports_minimal_reasoning_effort: false,
    supports_none_reasoning_effort: true,
    supports_max_reasoning_effort: true,
  };
  expect(made('gpt-9', entry)).toEqual({
    id: 'openai/gpt-9',
    capabilities: ['tools', 'vision', 'files'],
    reasoning_efforts: ['none', 'low', 'medium', 'high', 'max'],
    context_window: 1_050_000,
    max_output_tokens: 128_000,
    usd_per_million_tokens: { input: 1, output: 2 },
    tokenizer: 'o200k_base',
    shutdown_date: '2026-12-11',
    target: { request: { drop: ['temperature', 'top_p'] } },
  });
  expect(made('gpt-4', {})).toMatchObject({ tokenizer: 'cl100k_base', reasoning_efforts: [] });
  expect(made('claude-9', { litellm_provider: 'anthropic', supports_reasoning: true })).toMatchObject({
    id: 'anthropic/claude-9',
    context_window: 922_000,
    target: { reasoning_budgets: { low: 1024, medium: 8192, high: 24_576 } },
  });
});

it('has no tiers for a provider that never receives service_tier', () => {
  const tier = { input_cost_per_token_flex: 5e-7 };
  expect(made('gpt-9', tier)?.usd_per_million_tokens.service_tiers).toEqual({ flex: { input: 0.5, output: 2 } });
  const google = made('gemini/g', { ...tier, litellm_provider: 'gemini' });
  expect(google?.usd_per_million_tokens).toEqual({ input: 1, output: 2 });
});

it.each([
  ['gpt-audio', { output_cost_per_audio_token: 8e-5, supported_output_modalities: ['audio'] }],
  ['free', { input_cost_per_token: 0, output_cost_per_token: 0 }],
  ['ft:gpt-9', {}],
  ['no-window', { max_input_tokens: undefined }],
  ['chat-alone', { supported_endpoints: ['/v1/chat/completions'] }],
  ['embedding', { mode: 'embedding' }],
  ['other', { litellm_provider: 'elsewhere' }],
])('leaves out %s', (name, entry) => {
  expect(made(name, entry)).toBeUndefined();
});
