import type { Target } from '#core/config/gateway-config.ts';
import type { TokenUsage } from '#core/pricing.ts';
import type { Span } from '../../telemetry/request-trace.ts';
import { type AdmittedRequest, doorApiOf } from '../provider/admitted-request.ts';
import type { ProviderFailure } from '../provider/provider-failure.ts';
import type { ResponseMeter } from '../response/response-meter.ts';

/** Begins an attempt's span (OpenTelemetry GenAI 0.1.0), without prompt and response. */
export function beginAttemptSpan(admitted: AdmittedRequest, { provider, model }: Target): Span | undefined {
  const { trace, chat, outputLimit } = admitted;
  if (trace === undefined) return undefined;
  const operation = doorApiOf(admitted) === 'embeddings' ? 'embeddings' : 'chat';
  const span = trace.step(`${operation} ${model}`, 'client');
  span.set('gen_ai.operation.name', operation);
  span.set('gen_ai.provider.name', provider.name);
  span.set('gen_ai.request.model', model);
  if (outputLimit > 0) span.set('gen_ai.request.max_tokens', outputLimit);
  if (chat.stream) span.set('gen_ai.request.stream', true);
  if (chat.completions > 1) span.set('gen_ai.request.choice.count', chat.completions);
  // Envoy chooses one of several endpoints.
  if (provider.endpoints === undefined) {
    const { hostname, port, protocol } = provider.baseUrl;
    span.set('server.address', hostname);
    span.set('server.port', Number(port) || (protocol === 'https:' ? 443 : 80));
  }
  return span;
}

export function noteFirstEvent({ trace }: AdmittedRequest, firstEventAfterCallMs: number): void {
  const span = trace?.current;
  span?.event('first_event');
  span?.set('gen_ai.response.time_to_first_chunk', firstEventAfterCallMs / 1000);
}

export function endStreamSpan({ trace }: AdmittedRequest, failure: ProviderFailure | undefined): void {
  if (failure !== undefined) trace?.current?.fail(failure.result);
  trace?.current?.end();
}

export function describeResponse({ trace }: AdmittedRequest, meter: ResponseMeter, usage: TokenUsage): void {
  const span = trace?.current;
  if (span === undefined) return;
  const { upstreamId, finishReason } = meter.facts();
  span.set('gen_ai.response.model', meter.model);
  span.set('gen_ai.response.id', upstreamId);
  if (finishReason !== undefined) span.set('gen_ai.response.finish_reasons', [finishReason]);
  span.set('gen_ai.usage.input_tokens', usage.promptTokens);
  span.set('gen_ai.usage.output_tokens', usage.completionTokens);
  if (usage.cachedTokens > 0) span.set('gen_ai.usage.cache_read.input_tokens', usage.cachedTokens);
  if (usage.cacheWriteTokens > 0) {
    span.set('gen_ai.usage.cache_write.input_tokens', usage.cacheWriteTokens);
    // Collectors still read the former name of this attribute.
    span.set('gen_ai.usage.cache_creation.input_tokens', usage.cacheWriteTokens);
  }
  if (usage.reasoningTokens > 0) span.set('gen_ai.usage.reasoning.output_tokens', usage.reasoningTokens);
}
