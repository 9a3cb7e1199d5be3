import type { DoorApi } from '#core/config/apis.ts';
import type { ProviderApi } from '#core/config/provider-api.ts';
import { isObject, type JsonObject, parseObject } from '#core/json-object.ts';
import { asCompletion, type Completion, hasError } from '../../dialects/completion.ts';
import { parseExactly } from '../../dialects/exact-json.ts';
import { editObject, isNestedDeeply, membersOf } from '../../dialects/json-members.ts';
import { hidingEdits } from '../../dialects/shown-members.ts';
import type { ResponseNames as DoorNames } from '../../doors/door.ts';
import { readEmbeddings } from '../../doors/embeddings/embeddings-response.ts';
import { doorOf } from '../../doors/reading/doors.ts';
import { DIALECTS } from '../provider/dialects.ts';
import { bodyFailure, FAILURES, type ProviderFailure } from '../provider/provider-failure.ts';
import type { MeasuredText } from './produced-text.ts';
import { repairWhole } from './repairs.ts';
import { errorListIn } from './stream-event.ts';

/** A provider's JSON response for the client. Its usage is added when the cost is known. */
export interface ProviderResponse {
  readonly kind: 'response';
  readonly completion: Completion;
  /** The provider's usage, as JSON. */
  readonly usage: string | undefined;
  /** Text of the object without `usage` and without the closing brace. */
  readonly open: string | Buffer;
  /** Size of the text that was cut from `completion`. Absent: the completion is whole. */
  readonly measured?: MeasuredText;
}

/** Names under which the client knows the response, and the API that the provider speaks. */
export interface ResponseNames {
  readonly generationId: string;
  readonly model: string;
  readonly api: ProviderApi;
  readonly isEmbedding?: boolean;
  /** How the client of a door gets the response. Absent: as a chat completion. */
  readonly shown?: ShownAtDoor;
}

export interface ShownAtDoor {
  readonly api: DoorApi;
  readonly names: DoorNames;
  /** True if the provider's own text is passed on. */
  readonly isPassed: boolean;
}

/** Reads a response. Text that needs no translation is edited, not serialized again. */
export function readResponse(sent: string, names: ResponseNames): ProviderResponse | ProviderFailure {
  if (names.isEmbedding) return readEmbedded(sent, names);
  const dialect = DIALECTS[names.api];
  const said = dialect === undefined ? parseObject(sent) : parseResponse(sent);
  if (said === undefined) return errorListIn(sent) ?? FAILURES.malformed;
  const json = dialect === undefined ? said : dialect.response(said);
  if (hasError(json)) return bodyFailure(json);
  const answered = asCompletion(json);
  if (answered === undefined || answered.choices.length === 0 || isNestedDeeply(sent)) return FAILURES.malformed;
  const { shown } = names;
  const door = shown && doorOf(shown.api);
  if (shown === undefined || door === undefined)
    return asChat(dialect === undefined ? sent : JSON.stringify(json), answered, names);
  const completion = repairWhole(answered, names.generationId);
  const text = shown.isPassed
    ? editObject(sent, door.passedResponse(said, shown.names))
    : JSON.stringify(door.response(completion, shown.names));
  return { kind: 'response', completion, usage: undefined, open: text.slice(0, -1) };
}

/** Keeps integers above 2^53 exact, for arguments of calls, unless the nesting is too deep. */
function parseResponse(text: string): JsonObject | undefined {
  try {
    const value: unknown = parseExactly(text);
    return isObject(value) ? value : undefined;
  } catch {
    return parseObject(text);
  }
}

function readEmbedded(sent: string, { model }: ResponseNames): ProviderResponse | ProviderFailure {
  const said = parseObject(sent);
  if (said === undefined) return errorListIn(sent) ?? FAILURES.malformed;
  if (hasError(said)) return bodyFailure(said);
  const read = readEmbeddings(sent, said, model);
  return read === undefined ? FAILURES.malformed : { kind: 'response', usage: undefined, ...read };
}

function asChat(text: string, answered: Completion, { generationId, model }: ResponseNames): ProviderResponse {
  const completion = repairWhole(answered, generationId);
  const members = membersOf(text);
  const sent = members.findLast((member) => member.name === 'usage');
  const edits = {
    ...(completion === answered ? {} : { choices: JSON.stringify(completion.choices) }),
    ...hidingEdits(completion),
    id: JSON.stringify(generationId),
    model: JSON.stringify(model),
    usage: undefined,
  };
  return {
    kind: 'response',
    completion,
    usage: sent && text.slice(sent.valueStart, sent.valueEnd),
    open: editObject(text, edits, members).slice(0, -1),
  };
}
