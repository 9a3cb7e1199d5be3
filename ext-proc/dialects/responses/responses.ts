import type { Dialect } from '../dialect.ts';
import { chatCompletion } from './completion.ts';
import { chatErrorBody } from './errors.ts';
import { responsesRequest } from './request.ts';
import { ResponsesStream } from './responses-stream.ts';

/** OpenAI's Responses API, stateless: nothing is stored at the provider. */
export const RESPONSES: Dialect = {
  headers: {},
  request: responsesRequest,
  response: chatCompletion,
  error: chatErrorBody,
  stream: (isPassed) => new ResponsesStream(isPassed),
};
