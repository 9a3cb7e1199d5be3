/** Body of `POST /api/organizations/:organization/playground`. */
export interface PlayInput {
  readonly chat: PlayChat;
  /** Another model that is asked at the same time: both requests have one key. */
  readonly beside?: string;
  /** A key whose scopes, models, limits by the minute and daily budget hold too. */
  readonly likeKey?: string;
}

/** A request as the API takes it, without `stream`. The gateway judges every other member. */
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
 * Header of the response with the status of the gateway, beside `x-request-id` and
 * `x-generation-id`. The response itself is 200 whatever the gateway answers, because the page
 * takes other statuses for the dashboard's own. Its body is that of the gateway: events, or an
 * error.
 */
export const GATEWAY_STATUS = 'x-gateway-status';

export const MAX_PLAY_TOKENS = 16_384;
export const MAX_PLAY_MESSAGES = 200;

/** Absent in the session: there is no playground. */
export interface PlaygroundView {
  /** The most that a key of the playground spends in its life. */
  readonly budgetNanoUsd: string;
  readonly keyMinutes: number;
}
