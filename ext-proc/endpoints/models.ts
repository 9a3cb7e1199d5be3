import type { Model } from '../../core/config/gateway-config.ts';
import { isRefusal } from '../../core/errors/refusal.ts';
import type { Prices } from '../../core/pricing.ts';
import type { AuthorizedRequest, EndpointResult } from './authorized-request.ts';
import { readQuery } from './query.ts';

/** `GET /v1/models`: the enabled models that the key may use, in the order of the configuration. */
export async function listModels(request: AuthorizedRequest): Promise<EndpointResult> {
  const query = readQuery(request.route.query, []);
  if (isRefusal(query)) return query;
  const limited = await request.takeRead();
  if (limited) return limited;
  const { config, principal } = request;
  const allowed = principal.key.models;
  const data = [...config.models.values()]
    .filter((model) => !model.disabled && (allowed === undefined || allowed.has(model.id)))
    .map(modelRecord);
  return { kind: 'json', body: { object: 'list', data } };
}

/** OpenAI's format needs the time when a model was made. It is not known, so it is a constant. */
const CREATED_SECONDS = 1_735_689_600;

function modelRecord(model: Model) {
  return {
    id: model.id,
    object: 'model',
    created: CREATED_SECONDS,
    owned_by: 'inference-gateway',
    capabilities: [...model.capabilities],
    context_window: model.contextWindow,
    max_output_tokens: model.maxOutputTokens,
    reasoning_efforts: model.reasoningEfforts,
    pricing: pricing(model.prices),
  };
}

/** Names of the prices in the response. */
const PRICE_NAMES: Readonly<Record<keyof Prices, string>> = {
  inputPicoUsd: 'input',
  cachedInputPicoUsd: 'cached_input',
  outputPicoUsd: 'output',
};

function pricing(prices: Prices): Readonly<Record<string, number>> {
  const names = Object.entries(PRICE_NAMES) as readonly (readonly [keyof Prices, string])[];
  return Object.fromEntries(names.map(([price, name]) => [name, usdPerMillionTokens(prices[price])]));
}

/** One pico-dollar per token is a millionth of a dollar per million tokens. */
function usdPerMillionTokens(picoUsd: bigint): number {
  return Number(picoUsd) / 1e6;
}
