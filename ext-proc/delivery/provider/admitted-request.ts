import type { DoorApi } from '#core/config/apis.ts';
import type { GatewayConfig, Model } from '#core/config/gateway-config.ts';
import type { ChatRequest } from '../../chat/chat-request.ts';
import type { ResponseNames } from '../../doors/door.ts';
import type { RequestAtDoor } from '../../doors/request-at-door.ts';
import type { RequestReasoning } from '../../reasoning/request-reasoning.ts';
import type { RequestTrace } from '../../telemetry/request-trace.ts';

/** Admitted request on its way to a provider. Its hold ends in one charge or one release. */
export interface AdmittedRequest {
  readonly generationId: string;
  readonly requestId: string;
  readonly organizationId: string;
  readonly config: GatewayConfig;
  readonly model: Model;
  readonly chat: ChatRequest;
  /** Absent: the client speaks chat completions. */
  readonly atDoor?: RequestAtDoor;
  /** The limit sent to the provider, per completion; 0: none, for embeddings. */
  readonly outputLimit: number;
  /** Headers of every response, refusals too: `x-generation-id`, `x-ratelimit-*`. */
  readonly responseHeaders: Readonly<Record<string, string>>;
  /** Unix seconds, for `created`. */
  readonly createdAtSeconds: number;
  /**
   * True with an Idempotency-Key: the response is read to its end even if the client leaves, and
   * charged together with its stored copy, so that a retry finds it.
   */
  readonly keepsResponse?: boolean;
  /** Absent: no target has reasoning that is kept, or the request has no tools. */
  readonly reasoning?: RequestReasoning;
  /** End of the request (`timeouts.total`), on the monotonic clock. */
  readonly deadlineMs: number;
  /** Aborts when the process ends: the request ends, and the output so far is charged. */
  readonly mustEnd: AbortSignal;
  readonly trace?: RequestTrace | undefined;
}

/** The ids and names that a response shows to a client of a door. */
export function namesAtDoor(
  { generationId, requestId, model, createdAtSeconds }: AdmittedRequest,
  { asked }: RequestAtDoor,
): ResponseNames {
  return { generationId, requestId, model: model.id, createdAtSeconds, asked };
}

/** The API that the client spoke. Absent: chat completions. */
export function doorApiOf({ atDoor, chat }: Pick<AdmittedRequest, 'atDoor' | 'chat'>): DoorApi | undefined {
  return chat.inputTokens.inputs === undefined ? atDoor?.door.api : 'embeddings';
}
