import { errorBody } from '../../dialects/anthropic/error-body.ts';
import { tierMembers } from '../../dialects/anthropic/service-tier.ts';
import type { MemberEdits } from '../../dialects/json-members.ts';
import { type ParamNames, renamedParam } from '../../dialects/renamed-param.ts';
import type { Door, PassedFields } from '../door.ts';
import { sentEvent } from '../events.ts';
import { MESSAGES_MEMBERS } from './known-members.ts';
import { messageOf } from './message-object.ts';
import { MessageStream } from './message-stream.ts';
import { PassedMessageStream, passedMessage } from './passed-message.ts';
import { MESSAGES_FIELDS, readMessagesBody } from './read-body.ts';
import { messageUsage } from './usage.ts';

/** Fields of chat, each with the field of Messages from which it was made. */
const PARAMS: ParamNames = [
  [/^max_(?:completion_)?tokens$/, 'max_tokens'],
  [/^stop\b/, 'stop_sequences'],
  [/^user$/, 'metadata.user_id'],
  [/^reasoning_effort$/, 'output_config.effort'],
  [/^response_format(?:\.json_schema)?/, 'output_config.format'],
  [/^parallel_tool_calls$/, 'tool_choice.disable_parallel_tool_use'],
  [/^(tool_choice)\.function\b/, '$1'],
  [/^(tools\[.*\]|messages\[.*\]\.tool\.definition)\.function\.parameters\b/, '$1.input_schema'],
  [/^(tools\[.*\]|messages\[.*\])\.function\b/, '$1'],
  [/^(messages\[.*\])\.image_url\b.*$/, '$1.source'],
  [/^(messages\[.*\])\.file\b.*$/, '$1.source'],
];

/** `POST /v1/messages`. */
export const MESSAGES_DOOR: Door = {
  api: 'messages',
  providerApi: 'anthropic',
  fields: MESSAGES_FIELDS,
  knownMembers: MESSAGES_MEMBERS,
  messageKinds: ['array'],
  required: ['max_tokens'],
  cures: new Map([
    ['input', ': this is a Responses body; send messages'],
    ['instructions', '; send system'],
    ['max_completion_tokens', '; send max_tokens'],
    ['stop', '; send stop_sequences'],
    ['user', '; send metadata.user_id'],
    ['reasoning_effort', '; send output_config.effort'],
    ['response_format', '; send output_config.format'],
  ]),
  headers: ['anthropic-beta'],
  idHeader: 'request-id',
  heartbeat: sentEvent('ping'),
  read: readMessagesBody,
  asksToReason: ({ thinking }) => thinking !== undefined,
  passedEdits,
  param: (chatParam) => renamedParam(PARAMS, chatParam) ?? chatParam,
  error: errorBody,
  response: messageOf,
  passedResponse: passedMessage,
  usage: (charged) => JSON.stringify(messageUsage(charged)),
  stream: (names) => new MessageStream(names),
  passedStream: (names) => new PassedMessageStream(names),
};

/** `POST /v1/messages/count_tokens`: the same body, which may lack its output limit. */
export const COUNT_DOOR: Door = { ...MESSAGES_DOOR, required: [] };

/** Removes `diagnostics`: it names the previous message by the gateway's id. */
function passedEdits({ model, outputLimit, serviceTier, identities }: PassedFields): MemberEdits {
  const user = identities.get('user');
  const tier = Object.entries(tierMembers(serviceTier) ?? {}).map(([name, value]) => [name, JSON.stringify(value)]);
  return {
    model: JSON.stringify(model),
    max_tokens: String(outputLimit),
    metadata: user === undefined ? undefined : JSON.stringify({ user_id: user }),
    ...{ diagnostics: undefined, service_tier: undefined, speed: undefined },
    ...Object.fromEntries(tier),
  };
}
