import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { runCommandLine } from '../command-line.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gw-models-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const CONFIG = `
providers:
  mine: {base_url: http://127.0.0.1:9/v1}
models:
  all:
    context_window: 1000
    longest_prompt: 2000
    max_output_tokens: 100
    usd_per_million_tokens: {input: 1, output: 2.5}
    timeouts: {first_byte: 10m}
    targets:
      - provider: mine
        model: m
        api: anthropic
        reasoning_budgets: {low: 1024}
        cost_usd_per_million_tokens: {input: 0.5, output: 1}
        request: {drop: [seed], set: {store: false, top_k: 5}, roles: {developer: system}}
  few:
    context_window: 100000
    max_output_tokens: 50000
    usd_per_million_tokens: {input: 1, output: 2.5}
    targets: [{provider: mine, model: m}]
`;

it('lists every member of the mapping', async () => {
  const file = join(folder, 'gateway.yaml');
  writeFileSync(file, CONFIG);
  const result = await runCommandLine(['models', 'list'], { GATEWAY_CONFIG: file });
  const cost = { input: 0.5, cached_input: 0.5, cache_write: 0.5, cache_write_1h: 0.5, output: 1 };
  const request = { drop: ['seed'], set: { store: false, top_k: 5 }, roles: { developer: 'system' } };
  const target = { provider: 'mine', model: 'm', api: 'anthropic', reasoning_budgets: { low: 1024 } };
  const defaults = { capabilities: [], reasoning_efforts: [], tokenizer: 'bytes', disabled: false };
  const prices = { input: 1, cached_input: 1, cache_write: 1, cache_write_1h: 1, output: 2.5 };
  expect(result).toMatchObject({ kind: 'done' });
  expect(result).toHaveProperty('json', [
    {
      ...{ id: 'all', ...defaults, usd_per_million_tokens: prices, timeouts: { first_byte: '10m' } },
      ...{ context_window: 1000, longest_prompt: 2000, max_output_tokens: 100, default_output_tokens: 100 },
      targets: [{ ...target, cost_usd_per_million_tokens: cost, request }],
    },
    {
      ...{ id: 'few', ...defaults, usd_per_million_tokens: prices, targets: [{ provider: 'mine', model: 'm' }] },
      ...{ context_window: 100_000, max_output_tokens: 50_000, default_output_tokens: 16_384 },
    },
  ]);
});
