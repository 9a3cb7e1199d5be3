import { type ParamNames, renamedParam } from '../../dialects/renamed-param.ts';
import type { Door } from '../door.ts';
import { RESPONSES_MEMBERS } from './known-members.ts';
import { PassedResponseStream, passedResponse } from './passed-response.ts';
import { RESPONSES_FIELDS, readResponsesBody } from './read-body.ts';
import { responseOf, responsesUsage } from './response-object.ts';
import { ResponseStream } from './response-stream.ts';

/** Fields of chat, each with the field of Responses from which it was made. */
const PARAMS: ParamNames = [
  [/^max_(?:completion_)?tokens$/, 'max_output_tokens'],
  // The messages that a provider got are not the items, so an index would mislead.
  [/^messages\b.*$/, 'input'],
  [/^reasoning_effort$/, 'reasoning.effort'],
  [/^verbosity$/, 'text.verbosity'],
  [/^response_format(?:\.json_schema)?/, 'text.format'],
  [/^((?:tools|input)\[.*\])\.(?:function|custom)\b/, '$1'],
  [/^(tool_choice)\.(?:function|custom|allowed_tools)\b/, '$1'],
  [/^(input\[.*\])\.image_url\.url$/, '$1.image_url'],
  [/^(input\[.*\])\.file\.(\w+)$/, '$1.$2'],
  [/^(input\[.*\])\.file$/, '$1.file_data'],
];

/** `POST /v1/responses`, stateless. */
export const RESPONSES_DOOR: Door = {
  api: 'responses',
  providerApi: 'responses',
  fields: RESPONSES_FIELDS,
  knownMembers: RESPONSES_MEMBERS,
  messageKinds: ['array', 'string'],
  storedItems: 'input',
  cures: new Map([
    ['messages', ': this is a chat completions body; send input'],
    ['max_tokens', '; send max_output_tokens'],
    ['max_completion_tokens', '; send max_output_tokens'],
    ['reasoning_effort', '; send reasoning.effort'],
    ['response_format', '; send text.format'],
    ['system', '; send instructions'],
  ]),
  read: readResponsesBody,
  passedEdits: ({ model, outputLimit, serviceTier, identities }) => ({
    model: JSON.stringify(model),
    max_output_tokens: String(outputLimit),
    store: 'false',
    ...{ metadata: undefined, client_metadata: undefined, background: undefined },
    ...(serviceTier === undefined ? {} : { service_tier: JSON.stringify(serviceTier) }),
    ...Object.fromEntries([...identities].map(([name, value]) => [name, JSON.stringify(value)])),
  }),
  param: (chatParam) => renamedParam(PARAMS, chatParam) ?? chatParam,
  error: (error) => ({ error }),
  response: responseOf,
  passedResponse,
  usage: (charged) => JSON.stringify(responsesUsage(charged)),
  stream: (names) => new ResponseStream(names),
  passedStream: (names) => new PassedResponseStream(names),
};
