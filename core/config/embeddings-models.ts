import { isObject, type JsonObject } from '../json-object.ts';
import type { Model } from './gateway-config.ts';
import type { RuleProblem } from './problem.ts';
import type { RightParts } from './right-parts.ts';
import type { ConfigFile, ModelEntry } from './schema.ts';
import type { Path } from './yaml-tree.ts';

/** Models with `embeddings` produce no text, so the file may omit output limit and prices. */

/** Adds the members that embedding models may omit, so that one schema fits all models. */
export function withoutOutput(file: unknown): unknown {
  if (!isObject(file) || !isObject(file.models)) return file;
  const embedding = new Set<string>();
  const models = mapped(file.models, (entry, id) => {
    if (!isObject(entry) || !Array.isArray(entry.capabilities) || !entry.capabilities.includes('embeddings'))
      return entry;
    embedding.add(id);
    return filledModel(entry);
  });
  if (embedding.size === 0) return file;
  const fillListed = (entry: unknown, id: string) =>
    embedding.has(id) && isObject(entry) && !('percent' in entry) ? filledTable(entry) : entry;
  const lists = isObject(file.price_lists)
    ? { price_lists: mapped(file.price_lists, (list) => (isObject(list) ? mapped(list, fillListed) : list)) }
    : {};
  return { ...file, models, ...lists };
}

function mapped(mapping: JsonObject, change: (value: unknown, name: string) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(mapping).map(([name, value]) => [name, change(value, name)]));
}

function filledModel(model: JsonObject): JsonObject {
  const { usd_per_million_tokens: prices, targets } = model;
  const cost = 'cost_usd_per_million_tokens';
  const costed = (target: unknown) =>
    isObject(target) && cost in target ? { ...target, [cost]: filledTable(target[cost]) } : target;
  return {
    max_output_tokens: 1,
    ...model,
    ...(prices === undefined ? {} : { usd_per_million_tokens: filledTable(prices) }),
    ...(Array.isArray(targets) ? { targets: targets.map(costed) } : {}),
  };
}

/** Fills a table of prices, and the tables inside it. */
function filledTable(table: unknown): unknown {
  if (!isObject(table)) return table;
  const inside = mapped(table, (value, name) => {
    if (Array.isArray(value) && (name === 'above' || name === 'hours')) return value.map(filledTable);
    return isObject(value) && (name === 'service_tiers' || name === 'from') ? mapped(value, filledTable) : value;
  });
  return { output: 0, ...inside };
}

const DEFAULT_OUTPUT_TOKENS = 16_384;

export function outputOf(entry: ModelEntry): Pick<Model, 'maxOutputTokens' | 'defaultOutputTokens'> {
  const { max_output_tokens: most, default_output_tokens: given } = entry;
  if (embeds(entry)) return { maxOutputTokens: 0, defaultOutputTokens: 0 };
  return { maxOutputTokens: most, defaultOutputTokens: given ?? Math.min(DEFAULT_OUTPUT_TOKENS, most) };
}

export function embeds({ capabilities }: Pick<ModelEntry, 'capabilities'>): boolean {
  return capabilities.includes('embeddings');
}

/** Warns of embedding models that no client can use. */
export function unofferedEmbeddings({ apis, models }: Pick<ConfigFile, 'apis' | 'models'>): readonly RuleProblem[] {
  const unoffered = apis.embeddings ? [] : Object.entries(models).filter(([, model]) => embeds(model));
  const message = 'are embeddings, which clients get only with apis: {embeddings: true}';
  return unoffered.map(([id]) => ({ path: ['models', id, 'capabilities'], message }));
}

export function checkEmbeddings(path: Path, model: ModelEntry, providers: RightParts['providers']): RuleProblem[] {
  const { capabilities, reasoning_efforts: efforts, targets } = model;
  if (!embeds(model)) return [];
  const problems: RuleProblem[] = targets.flatMap(({ provider, api = providers[provider]?.api }, index) =>
    api === undefined || api === 'chat'
      ? []
      : [{ path: [...path, 'targets', index], message: `must be of api: chat; embeddings have no other API` }],
  );
  if (capabilities.some((one) => one !== 'embeddings'))
    problems.push({ path: [...path, 'capabilities'], message: 'must be embeddings alone: such a model does not chat' });
  if (efforts.length > 0)
    problems.push({
      path: [...path, 'reasoning_efforts'],
      message: 'must be empty: a model of embeddings does not reason',
    });
  return problems;
}
