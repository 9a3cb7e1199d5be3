import { parseObject } from '../../../core/json-object.ts';
import { bodyFailure, FAILURES, type ProviderFailure } from '../provider/provider-failure.ts';
import { asCompletion, type Completion, hasError } from './completion.ts';
import { editObject, membersOf } from './json-members.ts';
import type { MeasuredText } from './produced-text.ts';
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

/** The names that the client knows it by. */
export interface ResponseNames {
  readonly generationId: string;
  readonly model: string;
}

/** Edits the text instead of serializing it again. */
export function readResponse(text: string, { generationId, model }: ResponseNames): ProviderResponse | ProviderFailure {
  const json = parseObject(text);
  if (json === undefined) return errorListIn(text) ?? FAILURES.malformed;
  if (hasError(json)) return bodyFailure(json);
  const completion = asCompletion(json);
  if (completion === undefined || completion.choices.length === 0) return FAILURES.malformed;
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
