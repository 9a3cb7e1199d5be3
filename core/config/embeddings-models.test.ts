import { expect, test } from 'vitest';
import { configFolder } from './load.fixture.ts';
import { formatProblem } from './problem.ts';

const folder = configFolder();

const MODELS = `
providers: {p: {base_url: http://127.0.0.1:9}}
models:
  e:
    capabilities: [embeddings]
    context_window: 8192
    usd_per_million_tokens:
      input: 0.02
      above: [{input_tokens: 1000, input: 0.03}]
      service_tiers: {flex: {input: 0.01}}
      hours: [{utc: "01:00-04:00", input: 0.015, above: [{input_tokens: 1000, input: 0.03}]}]
      from: {2026-12-01: {input: 0.04}}
    targets: [{provider: p, model: x, cost_usd_per_million_tokens: {input: 0.01}}]
price_lists: {partner: {e: {input: 0.01, above: [{input_tokens: 1000, input: 0.02}]}}, less: {e: {percent: -10}}}
`;

test('an embedding model only needs a price for input, in every table', async () => {
  const { config, warnings } = await folder.loaded(`apis: {embeddings: true}${MODELS}`);
  const model = config.models.get('e');
  expect(model).toMatchObject({ maxOutputTokens: 0, defaultOutputTokens: 0, targets: [{ api: 'chat' }] });
  expect(model?.priceTable.prices).toMatchObject({ inputPicoUsd: 20_000n, outputPicoUsd: 0n });
  expect(warnings.map(({ message }) => message).filter((text) => text.includes('embeddings'))).toEqual([]);
});

test('it may have an output limit without effect, even above its window', async () => {
  const text = MODELS.replace('8192', '8192\n    max_output_tokens: 10000\n    default_output_tokens: 20000');
  const { config } = await folder.loaded(`apis: {embeddings: true}${text}`);
  expect(config.models.get('e')).toMatchObject({ maxOutputTokens: 0, defaultOutputTokens: 0 });
});

test('without the API that serves it the model is a warning', async () => {
  const { warnings } = await folder.loaded(MODELS);
  expect(warnings.map((warning) => formatProblem(warning).slice(folder.path.length + 1))).toContain(
    'gateway.yaml:5:19: models.e.capabilities: are embeddings, which clients get only with apis: {embeddings: true}',
  );
});
