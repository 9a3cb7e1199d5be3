import type { GatewayConfig, Model } from '../../../core/config/gateway-config.ts';
import type { ChatRequest } from '../../chat/chat-request.ts';
import type { RequestTrace } from '../../tracing/request-trace.ts';

/** An admitted request on its way to a provider: the hold is taken, what follows must end in exactly one charge or one release. */
export interface AdmittedRequest {
  readonly generationId: string;
  readonly requestId: string;
  readonly organizationId: string;
  readonly config: GatewayConfig;
  readonly model: Model;
  readonly chat: ChatRequest;
  /** The limit sent to the provider, per completion. */
  readonly outputLimit: number;
  /** On every answer to this order, refusals too: `x-generation-id`, `x-ratelimit-*`. */
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** Unix seconds, for `created`. */
  readonly createdAtSeconds: number;
  /** It has an Idempotency-Key: read to its end whoever leaves, and charged with its answer, so that a retry finds it (INTERFACE 4). */
  readonly keepsResponse?: boolean;
  /** On the monotonic clock: nothing goes on after it (`timeouts.total`). */
  readonly deadlineMs: number;
  /** Aborts when the process ends, and this order with it: what was produced is charged (DESIGN 3). */
  readonly mustEnd: AbortSignal;
  /** Of a request that is traced. */
  readonly trace?: RequestTrace | undefined;
}
