/** Body of `POST /api/organizations/:organization/playground`. */
export interface PlayInput {
  readonly chat: PlayChat;
  /** Another model that gets the same messages at the same time, with the same playground key. */
  readonly beside?: string;
  /** A key whose scopes, models, limits per minute and daily budget also apply. */
  readonly likeKey?: string;
}

/** A request to the API, without `stream`. The gateway checks every other member. */
export interface PlayChat {
  readonly model: string;
  readonly messages: readonly PlayMessage[];
  readonly max_tokens: number;
  readonly temperature?: number;
  readonly reasoning_effort?: string;
  readonly tools?: readonly unknown[];
}

export interface PlayMessage {
  readonly role: 'system' | 'user' | 'assistant' | 'tool';
  readonly content: string | readonly PlayPart[] | null;
  readonly tool_calls?: readonly PlayToolCall[];
  readonly tool_call_id?: string;
}

export type PlayPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } };

export interface PlayToolCall {
  readonly id: string;
  readonly type: 'function';
  readonly function: { readonly name: string; readonly arguments: string };
}

/**
 * Response header with the status that the gateway returned, next to `x-request-id` and
 * `x-generation-id`. The response itself always has status 200, because the page treats other
 * statuses as the dashboard's own. The body is the gateway's: events, or an error.
 */
export const GATEWAY_STATUS = 'x-gateway-status';

export const MAX_PLAY_TOKENS = 16_384;
export const MAX_PLAY_MESSAGES = 200;

/** Absent from the session if there is no playground. */
export interface PlaygroundView {
  /** Budget of a playground key over its life. */
  readonly budgetNanoUsd: string;
  readonly keyMinutes: number;
}
