import { describe, expect, it } from 'vitest';
import type { ModelView } from '#contract/money.ts';
import type { PricesJson } from '#core/price-table-text.ts';
import {
  distinctPrices,
  filterModels,
  findModels,
  modelChoice,
  modelToTry,
  priceEntries,
  priceEntryLabel,
} from './model-labels.ts';

const model = (id: string, more: Partial<ModelView> = {}): ModelView => ({
  id,
  capabilities: [],
  reasoningEfforts: [],
  contextWindow: 1000,
  maxOutputTokens: 100,
  defaultOutputTokens: 100,
  takesTemperature: true,
  priceTable: {
    prices: {
      inputPicoUsd: '250000',
      cachedInputPicoUsd: '25000',
      cacheWritePicoUsd: '250000',
      cacheWrite1hPicoUsd: '250000',
      outputPicoUsd: '2000000',
    },
    above: [],
    serviceTiers: {},
  },
  priceChanges: [],
  priceWindows: [],
  state: 'available',
  ...more,
});
const MODELS = [
  model('gpt-5', { capabilities: ['tools', 'vision'], reasoningEfforts: ['low'] }),
  model('anthropic/claude', { capabilities: ['tools'] }),
  model('a-disabled', { state: 'disabled', capabilities: ['tools'] }),
  model('gpt-5-mini', { capabilities: ['json_mode'] }),
];
const ids = (...rest: Parameters<typeof filterModels> extends [unknown, ...infer R] ? R : never) =>
  filterModels(MODELS, ...rest).map(({ id }) => id);

describe('filterModels', () => {
  it('sorts by price, cheapest first, with available models before others', () => {
    const { priceTable } = model('any');
    const prices = (inputPicoUsd: string) => ({ ...priceTable, prices: { ...priceTable.prices, inputPicoUsd } });
    const priced = [
      model('dear', { priceTable: prices('10000000'), contextWindow: 9 }),
      model('off', { priceTable: prices('1'), state: 'disabled' }),
      model('cheap', { priceTable: prices('9') }),
    ];
    const sorted = (filter: Parameters<typeof filterModels>[1]) =>
      filterModels(priced, filter, undefined).map(({ id }) => id);
    expect(sorted({ sort: 'input' })).toEqual(['cheap', 'dear', 'off']);
    expect(sorted({ sort: 'input', order: 'desc' })).toEqual(['dear', 'cheap', 'off']);
    expect(sorted({ sort: 'context' })).toEqual(['cheap', 'dear', 'off']);
    expect(sorted({})).toEqual(['cheap', 'dear', 'off']);
  });

  it('shows available models first, by id', () => {
    expect(ids({}, undefined)).toEqual(['anthropic/claude', 'gpt-5', 'gpt-5-mini', 'a-disabled']);
  });

  it('finds models of any kind by the words of the search', () => {
    expect(findModels([{ id: 'openai/gpt-5' }, { id: 'b' }], 'GPT open')).toEqual([{ id: 'openai/gpt-5' }]);
    expect(findModels([{ id: 'b' }])).toHaveLength(1);
  });

  it('requires every word of the search', () => {
    expect(ids({ search: 'mini GPT' }, undefined)).toEqual(['gpt-5-mini']);
    expect(ids({ search: 'gpt claude' }, undefined)).toEqual([]);
  });

  it('filters by capability', () => {
    expect(ids({ can: 'tools' }, undefined)).toEqual(['anthropic/claude', 'gpt-5', 'a-disabled']);
    expect(ids({ can: 'reasoning' }, undefined)).toEqual(['gpt-5']);
  });

  it('filters by the models of a key', () => {
    expect(ids({}, { models: ['gpt-5', 'gone'] })).toEqual(['gpt-5']);
    expect(ids({}, {})).toHaveLength(4);
  });
});

describe('modelToTry', () => {
  it('is available, and the key may use it', () => {
    expect(modelToTry(MODELS, {})).toBe('anthropic/claude');
    expect(modelToTry(MODELS, { models: ['a-disabled', 'gpt-5'] })).toBe('gpt-5');
  });

  it('is the cheapest', () => {
    const { priceTable } = model('a');
    const prices = { ...priceTable.prices, outputPicoUsd: '1999999' };
    const cheap = model('z', { priceTable: { ...priceTable, prices } });
    expect(modelToTry([...MODELS, cheap], {})).toBe('z');
    expect(modelToTry([...MODELS, { ...cheap, capabilities: ['embeddings'] }], {})).toBe('anthropic/claude');
  });

  it('is a model of the key if none is known to be available', () => {
    expect(modelToTry(MODELS, { models: ['a-disabled'] })).toBe('a-disabled');
    expect(modelToTry([], {})).toBeUndefined();
  });
});

describe('modelChoice', () => {
  it('shows capabilities and prices', () => {
    expect(modelChoice(model('gpt-5', { capabilities: ['tools', 'json_mode', 'files'] })).detail).toBe(
      'Tools · JSON mode · Files · $0.25 in, $2.00 out',
    );
    expect(modelChoice(model('e', { capabilities: ['embeddings'] })).detail).toBe('Embeddings · $0.25 in');
    expect(modelChoice(model('b', { state: 'misconfigured', capabilities: ['telepathy'] })).detail).toBe(
      'Unavailable · telepathy · $0.25 in, $2.00 out',
    );
  });
});

const pricesOf = (picoUsd: string): PricesJson => ({
  inputPicoUsd: picoUsd,
  cachedInputPicoUsd: picoUsd,
  cacheWritePicoUsd: picoUsd,
  cacheWrite1hPicoUsd: picoUsd,
  outputPicoUsd: picoUsd,
});

it('lists every price entry: the default tier, its long prompts, and those of each tier', () => {
  const entries = priceEntries({
    prices: pricesOf('1'),
    above: [
      { inputTokens: 200_000, prices: pricesOf('2') },
      { inputTokens: 500_000, prices: pricesOf('3') },
    ],
    serviceTiers: { flex: { prices: pricesOf('4'), above: [{ inputTokens: 200_000, prices: pricesOf('5') }] } },
  });
  expect(entries.map(({ label, prices }) => [label, prices.outputPicoUsd])).toEqual([
    ['Base prices', '1'],
    ['Prompts above 200,000 tokens', '2'],
    ['Prompts above 500,000 tokens', '3'],
    ['Service tier flex', '4'],
    ['Service tier flex, prompts above 200,000 tokens', '5'],
  ]);
});

it('names the entry of a charge like that of the model', () => {
  expect(priceEntryLabel('flex', 200_000)).toBe('Service tier flex, prompts above 200,000 tokens');
});

it('shows no price that equals its fallback', () => {
  const ofOne = (changes: Partial<PricesJson>) => {
    const prices = { ...pricesOf('1'), ...changes };
    const entries = [
      { label: '', prices: pricesOf('2') },
      { label: '', prices },
    ];
    expect(distinctPrices(entries, { capabilities: ['embeddings'] })).toEqual(['inputPicoUsd']);
    return distinctPrices(entries, { capabilities: ['tools'] });
  };
  expect(ofOne({})).toEqual(['inputPicoUsd', 'outputPicoUsd']);
  expect(ofOne({ cachedInputPicoUsd: '0' })).toEqual(['inputPicoUsd', 'cachedInputPicoUsd', 'outputPicoUsd']);
  expect(ofOne({ cacheWritePicoUsd: '3', cacheWrite1hPicoUsd: '3' })).not.toContain('cacheWrite1hPicoUsd');
  expect(ofOne({ cacheWritePicoUsd: '3' })).toContain('cacheWrite1hPicoUsd');
});
