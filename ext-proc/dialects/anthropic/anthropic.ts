import type { Dialect } from '../dialect.ts';
import { chatCompletion } from './completion.ts';
import { chatErrorBody } from './errors.ts';
import { MessageStream } from './message-stream.ts';
import { messagesRequest } from './request.ts';
import { tierIn, tierMembers } from './service-tier.ts';

/** Anthropic's Messages API. */
export const ANTHROPIC: Dialect = {
  headers: { 'anthropic-version': '2023-06-01' },
  request: messagesRequest,
  response: chatCompletion,
  error: chatErrorBody,
  stream: () => new MessageStream(),
  tierMembers,
  tierIn,
};
