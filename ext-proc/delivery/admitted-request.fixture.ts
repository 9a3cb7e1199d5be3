import { systemClock } from '#core/clock.ts';
import type { GatewayConfig, Model, Provider } from '#core/config/gateway-config.ts';
import { flatTable, NO_PRICES } from '#core/pricing.ts';
import { doneWith } from '#test/fixtures/chat-request.ts';
import type { ChatRequest } from '../chat/chat-request.ts';
import type { AdmittedRequest } from './provider/admitted-request.ts';

export function provider(name: string, more: Partial<Provider> = {}): Provider {
  return {
    ...{ name, api: 'chat', outputLimitField: 'max_tokens', apiKey: `secret-of-${name}` },
    baseUrl: new URL(`https://${name}.example/api/v1`),
    ...more,
  };
}

export interface AdmittedRequestOptions {
  readonly organizationId?: string;
  readonly stream?: boolean;
  readonly includeUsage?: boolean;
  readonly completions?: number;
  readonly reasoningEfforts?: readonly string[];
  readonly providers?: readonly Provider[];
  readonly timeouts?: Partial<GatewayConfig['timeouts'] & Model['timeouts']>;
  readonly retriesPerTarget?: number;
  readonly responseBodyBytes?: number;
  readonly mustEnd?: AbortSignal;
  /** The request has an Idempotency-Key. */
  readonly keepsResponse?: boolean;
  /** The ceiling of images that the request has. */
  readonly imageCeiling?: number;
  /** Inputs of embeddings. */
  readonly inputs?: number;
}

export function admittedRequest(options: AdmittedRequestOptions = {}): AdmittedRequest {
  // Limits that no test is about are long enough for any machine.
  const waits = { firstByteMs: 60_000, streamIdleMs: 60_000, totalMs: 60_000, heartbeatMs: 60_000 };
  const { totalMs, heartbeatMs, ...timeouts } = { ...waits, ...options.timeouts };
  const providers = options.providers ?? [provider('alpha')];
  const model: Model = {
    ...{ id: 'public-model', tokenizer: 'bytes', disabled: false, timeouts },
    ...{ capabilities: new Set(), reasoningEfforts: options.reasoningEfforts ?? [] },
    ...{ contextWindow: 10_000, maxOutputTokens: 1000, defaultOutputTokens: 1000 },
    priceTable: flatTable({ ...NO_PRICES, inputPicoUsd: 1n, cachedInputPicoUsd: 1n, outputPicoUsd: 1n }),
    targets: providers.map((one) => ({ provider: one, model: `${one.name}-model`, api: one.api })),
  };
  const hasImages = options.imageCeiling !== undefined;
  const chat: ChatRequest = {
    ...{ model: model.id, stream: options.stream ?? false, includeUsage: options.includeUsage ?? false },
    ...{ completions: options.completions ?? 1, jsonFormat: false, hasTools: false, identities: new Map() },
    ...{ hasImages, hasRemoteImages: false, hasMedia: hasImages },
    inputTokens: {
      ...{ estimate: 3, ceiling: 30, normalizedCeiling: 30, besidesText: { estimate: 0, ceiling: 17 } },
      ...(options.imageCeiling === undefined ? {} : { imageCeiling: options.imageCeiling }),
      ...(options.inputs === undefined ? {} : { inputs: { count: options.inputs, givenTokens: 0, longest: 3 } }),
    },
    wholeEstimate: () => doneWith(3),
    promptText: () => ['one two three'],
    promptTexts: () => ['one two three'],
    messagesWithoutReasoning: 0,
    calledMessages: () => [],
    lastHeard: () => '',
    encodeFor: (fields) => [Buffer.from(JSON.stringify(fields))],
    keepText: () => 0,
    tokensOmitted: () => 0,
    unsentTokens: () => 0,
  };
  const config = {
    timeouts: { totalMs, heartbeatMs },
    retriesPerTarget: options.retriesPerTarget ?? 1,
    limits: { requestBodyBytes: 1e6, responseBodyBytes: options.responseBodyBytes ?? 1e6, readRequestsPerMinute: 600 },
  };
  return {
    ...{ generationId: 'gen-TEST', requestId: 'request', organizationId: options.organizationId ?? 'org-TEST' },
    // Delivery reads no more of the configuration than this.
    config: config as GatewayConfig,
    ...{ model, chat, outputLimit: 100, responseHeaders: { 'x-ratelimit-limit-requests': '5' } },
    ...{ createdAtSeconds: 1_732_156_800, deadlineMs: systemClock.monotonicMs() + totalMs },
    mustEnd: options.mustEnd ?? new AbortController().signal,
    ...(options.keepsResponse ? { keepsResponse: true } : {}),
  };
}
