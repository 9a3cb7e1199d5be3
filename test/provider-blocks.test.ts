import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configFolder } from '#core/config/load.fixture.ts';
import { providerBlocks } from '#scripts/catalogue/provider-blocks.ts';
import { variablesOf } from './fixtures/variables-of.ts';

const folder = configFolder();
const BLOCKS = providerBlocks();

test('the page has at least 13 blocks of providers', () => {
  expect(BLOCKS.length).toBeGreaterThanOrEqual(13);
});

test.each(BLOCKS)('$heading: the block loads, and each of its models can be served', async ({ yaml }) => {
  mkdirSync(join(folder.path, 'secrets'));
  writeFileSync(join(folder.path, 'secrets/vertex-token'), 'token');
  const { config, warnings } = await folder.loaded(yaml, variablesOf(yaml));
  expect(warnings).toEqual([]);
  expect(config.models.size).toBeGreaterThan(0);
  for (const model of config.models.values()) expect(model.problem, model.id).toBeUndefined();
  const used = [...config.models.values()].flatMap(({ targets }) => targets.map(({ provider }) => provider.name));
  expect(new Set(used)).toEqual(new Set(config.providers.keys()));
});
