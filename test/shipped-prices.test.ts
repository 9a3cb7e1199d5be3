import { globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { configFolder } from '#core/config/load.fixture.ts';
import { shippedCatalogue } from '#core/model-catalogue/catalogue.ts';
import type { CatalogueModel, CatalogueTable } from '#core/model-catalogue/catalogue-model.ts';
import { runCommandLine } from '#operator/command-line.ts';
import { providerBlocks } from '#scripts/catalogue/provider-blocks.ts';
import { variablesOf } from './fixtures/variables-of.ts';

/**
 * Every configuration that users may copy: files of the repository and blocks of its documents. The
 * chart's trial is left out, because it has only the demo model.
 */
const FILES = globSync(['config/*.yaml', 'deploy/**/gateway.yaml'])
  .filter((path) => !path.startsWith('deploy/helm/trial/'))
  .map((path) => ({ heading: path, yaml: readFileSync(path, 'utf8') }))
  .filter(({ yaml }) => /^models:/m.test(yaml));
const SHIPPED = [...FILES, ...providerBlocks()];

const folder = configFolder();
const catalogue = await shippedCatalogue();

interface Shipped {
  readonly providers: Readonly<Record<string, { readonly base_url: string }>>;
  readonly models: Readonly<Record<string, ShippedModel>>;
}

interface ShippedModel {
  readonly capabilities?: readonly string[];
  readonly context_window: number;
  readonly longest_prompt?: number;
  readonly usd_per_million_tokens: CatalogueTable;
  readonly targets: readonly Target[];
}

interface Target {
  readonly provider: string;
  readonly model: string;
  readonly cost_usd_per_million_tokens?: CatalogueTable;
}

test('four files have models', () => {
  expect(FILES.map(({ heading }) => heading).sort()).toEqual([
    ...['config/gateway.yaml', 'config/production.yaml'],
    ...['deploy/compose/config/gateway.yaml', 'deploy/kubernetes/base/config/gateway.yaml'],
  ]);
});

test('the files for deployments have the same model', () => {
  const deployed = FILES.filter(({ heading }) => heading !== 'config/gateway.yaml');
  const models = deployed.map(({ yaml }) => (parse(yaml) as Shipped).models['gpt-6-luna']);
  expect(models[0]).toBeDefined();
  expect(models).toEqual([models[0], models[0], models[0]]);
});

test.each(SHIPPED)('$heading: models check finds no difference', async ({ yaml }) => {
  const path = join(folder.path, 'gateway.yaml');
  writeFileSync(path, yaml);
  const result = await runCommandLine(['models', 'check'], { ...variablesOf(yaml), GATEWAY_CONFIG: path });
  if (result.kind === 'usage') throw new Error(result.message);
  expect(result.json).toHaveProperty('differences');
  const { differences } = result.json as { differences: readonly { readonly field: string }[] };
  // A shutdown date comes closer without a change of this repository.
  expect(differences.filter(({ field }) => field !== 'shutdown_date')).toEqual([]);
});

test.each(SHIPPED)(
  '$heading: models have the whole price table of the catalogue, whatever their context window',
  ({ yaml }) => {
    const { providers, models } = parse(yaml) as Shipped;
    for (const [name, model] of Object.entries(models)) {
      for (const target of model.targets) {
        const entry = entryOf(providers[target.provider]?.base_url ?? '', target);
        if (entry === undefined) continue;
        expect(model.usd_per_million_tokens, name).toEqual(entry.usd_per_million_tokens);
        if (target.cost_usd_per_million_tokens !== undefined) {
          expect(target.cost_usd_per_million_tokens, name).toEqual(entry.usd_per_million_tokens);
        }
        if (model.capabilities?.includes('files') !== true) continue;
        expect(model.longest_prompt ?? model.context_window, name).toBeGreaterThanOrEqual(entry.context_window);
      }
    }
  },
);

function entryOf(baseUrl: string, { model }: Target): CatalogueModel | undefined {
  const provider = Object.entries(catalogue.providers).find(([, { base_url }]) => base_url === baseUrl)?.[0];
  return catalogue.models.find(({ id }) => id === `${provider}/${model}`);
}

test('Azure is billed as OpenAI is, but serves no tiers', () => {
  const azure = SHIPPED.find(({ heading }) => heading === 'Azure OpenAI');
  const table = (parse(azure?.yaml ?? '') as Shipped).models['gpt-6-luna']?.usd_per_million_tokens;
  const expected = catalogue.models.find(({ id }) => id === 'openai/gpt-6-luna')?.usd_per_million_tokens;
  expect(table).not.toHaveProperty('service_tiers');
  expect({ ...table, service_tiers: expected?.service_tiers }).toEqual(expected);
});

test('every file and most blocks have a model that the catalogue knows', () => {
  const known = SHIPPED.filter(({ yaml }) => {
    const { providers, models } = parse(yaml) as Shipped;
    return Object.values(models).some(({ targets }) =>
      targets.some((target) => entryOf(providers[target.provider]?.base_url ?? '', target) !== undefined),
    );
  });
  expect(known.map(({ heading }) => heading)).toEqual([
    ...FILES.map(({ heading }) => heading),
    ...['OpenAI', 'Anthropic', 'Gemini', 'Mistral', 'xAI', 'DeepSeek', 'Moonshot', 'Cohere'],
  ]);
});
