import type { CheckedConfig } from '#core/config/gateway-config.ts';
import type { Environment } from '#core/config/load.ts';
import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { isOnThisMachine } from './demo-model.ts';

/** Name of the provider in config/gateway.yaml for an Ollama on this machine. */
const OLLAMA = 'ollama';
/** Ollama needs no key. SDKs and its documentation send this one. */
const KEY = 'ollama';
const TIMEOUT_MS = 1_000;
const MOST_BYTES = 1024 * 1024;
const MODEL = /^[\x21-\x7e]{1,128}$/;

/**
 * Variables for a configuration with `demo: true` whose provider `ollama` runs on this machine: its
 * key, which enables the provider, and the first model that was pulled. Environment variables
 * override them. Undefined: nothing responded, or nothing was queried.
 */
export async function findOllama(config: CheckedConfig, env: Environment): Promise<Environment | undefined> {
  const provider = config.providers.get(OLLAMA);
  if (!config.demo || provider === undefined || !isOnThisMachine(provider.baseUrl) || env.OLLAMA_API_KEY)
    return undefined;
  const model = await firstModel(provider.baseUrl);
  return model === undefined ? undefined : { OLLAMA_API_KEY: KEY, OLLAMA_MODEL: env.OLLAMA_MODEL || model };
}

/** The response is checked, because another server may use this port. */
async function firstModel(baseUrl: URL): Promise<string | undefined> {
  try {
    const response = await fetch(`${baseUrl.href.replace(/\/+$/, '')}/models`, {
      redirect: 'error',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok || response.body === null) return undefined;
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for await (const piece of response.body) {
      bytes += piece.length;
      if (bytes > MOST_BYTES) return undefined;
      pieces.push(piece);
    }
    return firstId(parseObject(Buffer.concat(pieces).toString('utf8')));
  } catch {
    return undefined;
  }
}

function firstId(body: JsonObject | undefined): string | undefined {
  const models = body?.data;
  const first: unknown = Array.isArray(models) ? models[0] : undefined;
  const id = isObject(first) ? first.id : undefined;
  return typeof id === 'string' && MODEL.test(id) ? id : undefined;
}
