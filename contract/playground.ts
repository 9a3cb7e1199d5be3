/** Body of `POST /api/organizations/:organization/playground`. */
export interface PlayInput {
  readonly model: string;
  readonly messages: readonly PlayMessage[];
  readonly maxTokens: number;
  readonly temperature?: number;
  /** A key whose scopes, models, limits by the minute and daily budget hold too. */
  readonly likeKey?: string;
}

export interface PlayMessage {
  readonly role: 'system' | 'user' | 'assistant';
  readonly content: string;
}

/**
 * Header of the response with the status of the gateway, beside `x-request-id` and
 * `x-generation-id`. The response itself is 200 whatever the gateway answers, because the page
 * takes other statuses for the dashboard's own. Its body is that of the gateway: events, or an
 * error.
 */
export const GATEWAY_STATUS = 'x-gateway-status';

/** The largest output limit of a play. */
export const MAX_PLAY_TOKENS = 16_384;
/** Messages of a conversation. */
export const MAX_PLAY_MESSAGES = 200;

/** Absent in the session: there is no playground. */
export interface PlaygroundView {
  /** The most that a key of the playground spends in its life. */
  readonly budgetNanoUsd: string;
  readonly keyMinutes: number;
}
