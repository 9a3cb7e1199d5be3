import type { ProviderApi } from '#core/config/provider-api.ts';
import { type JsonObject, parseObject } from '#core/json-object.ts';
import { parseExactly } from '../../dialects/exact-json.ts';
import { DIALECTS } from '../provider/dialects.ts';
import { bodyFailure, FAILURES, type ProviderFailure } from '../provider/provider-failure.ts';
import { asCompletion, type Completion, hasError } from './completion.ts';
import { editObject, membersOf } from './json-members.ts';
import type { MeasuredText } from './produced-text.ts';
import { withFinishReasons } from './repairs.ts';
import { hidingEdits } from './shown-members.ts';
import { errorListIn } from './stream-event.ts';

/**
 * A provider's JSON answer as its client gets it, but for its usage, which is known only when it
 * was charged.
 */
export interface ProviderResponse {
  readonly kind: 'response';
  readonly completion: Completion;
  /** The provider's usage, as JSON. */
  readonly usage: string | undefined;
  /** The object without usage and without its last bracket. */
  readonly open: string | Buffer;
  /** Measure of long text, which the completion lacks: only its size is kept. */
  readonly measured?: MeasuredText;
}

/** The names that the client knows it by, and the API that the provider speaks. */
export interface ResponseNames {
  readonly generationId: string;
  readonly model: string;
  readonly api: ProviderApi;
}

/** Edits the text instead of serializing it again. */
export function readResponse(sent: string, names: ResponseNames): ProviderResponse | ProviderFailure {
  const dialect = DIALECTS[names.api];
  if (dialect === undefined) return readCompletion(sent, parseObject(sent), names);
  const said = parseResponse(sent);
  const completion = said && dialect.response(said);
  return readCompletion(completion === undefined ? sent : JSON.stringify(completion), completion, names);
}

/** Arguments of calls keep their integers above 2^53. Nested without end, they keep none. */
function parseResponse(text: string): JsonObject | undefined {
  const object = parseObject(text);
  try {
    return object && parseExactly(text);
  } catch {
    return object;
  }
}

function readCompletion(
  given: string,
  json: JsonObject | undefined,
  { generationId, model }: ResponseNames,
): ProviderResponse | ProviderFailure {
  if (json === undefined) return errorListIn(given) ?? FAILURES.malformed;
  if (hasError(json)) return bodyFailure(json);
  const answered = asCompletion(json);
  if (answered === undefined || answered.choices.length === 0) return FAILURES.malformed;
  const { text, completion } = withFinishReasons(given, answered);
  const members = membersOf(text);
  const sent = members.findLast((member) => member.name === 'usage');
  const edits = {
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
