import type { Envelope } from '#core/errors/refusal.ts';
import { isObject } from '#core/json-object.ts';
import type { Completion } from '../../dialects/completion.ts';
import { editObject, membersOf } from '../../dialects/json-members.ts';
import { hidingEdits } from '../../dialects/shown-members.ts';
import type { ChargedUsage } from '../../doors/door.ts';
import type { AdmittedRequest } from '../provider/admitted-request.ts';
import { usageJson } from '../response/usage.ts';
import { ChunkRewriter } from './chunk-rewriter.ts';

const DONE_EVENT = 'data: [DONE]\n\n';

/**
 * Chunks for a client of chat completions. The usage is held back until its cost is known. The
 * client gets it before `[DONE]`, even if the provider sent it with its last content, with every
 * chunk, or not at all.
 */
export class ChatStream {
  readonly keptCharacters = 0;
  readonly #admitted: AdmittedRequest;
  readonly #rewriter: ChunkRewriter;
  /** The last chunk that had a usage. */
  #usageText = '{}';
  /** That chunk, if it has no choices: it is not sent before the cost is known. */
  #usageChunk: Completion | undefined;

  constructor(admitted: AdmittedRequest) {
    this.#admitted = admitted;
    this.#rewriter = new ChunkRewriter(admitted.generationId, admitted.model.id);
  }

  chunk(completion: Completion, text: string): string {
    const { usage, choices } = completion;
    if (isObject(usage)) {
      this.#usageText = text;
      this.#usageChunk = choices.length === 0 ? completion : undefined;
      return this.#usageChunk ? '' : dataEvent(this.#rewriter.rewriteWithoutUsage(text, completion));
    }
    // The gateway always requests the usage, so providers add `"usage":null` to other chunks. The
    // client sees it only if it requested the usage itself; other values are invalid and removed.
    const isExpected = usage === undefined || (usage === null && this.#admitted.chat.includeUsage);
    if (!isExpected) return dataEvent(this.#rewriter.rewriteWithoutUsage(text, completion));
    return dataEvent(this.#rewriter.rewrite(text, completion));
  }

  content(_content: string, events: string): string {
    return events;
  }

  ended(charged: ChargedUsage): string {
    return this.#usage(charged) + DONE_EVENT;
  }

  failed(error: Envelope['error'], charged?: ChargedUsage): string {
    return (charged ? this.#usage(charged) : '') + failureEvent(this.#admitted, error) + DONE_EVENT;
  }

  #usage({ usage, usageCounted, costUsd }: ChargedUsage): string {
    const { generationId, model, createdAtSeconds, chat } = this.#admitted;
    if (!chat.includeUsage) return '';
    const text = this.#usageText;
    const members = membersOf(text);
    const sent = members.findLast((member) => member.name === 'usage');
    // A counted usage has no details, and the provider's would not fit it.
    const provided = usageCounted || sent === undefined ? undefined : text.slice(sent.valueStart, sent.valueEnd);
    const json = usageJson(provided, usage, costUsd);
    const id = JSON.stringify(generationId);
    const name = JSON.stringify(model.id);
    if (this.#usageChunk) {
      const edits = { ...hidingEdits(this.#usageChunk), id, model: name, choices: '[]', usage: json };
      return dataEvent(editObject(text, edits, members));
    }
    return dataEvent(
      `{"id":${id},"object":"chat.completion.chunk","created":${createdAtSeconds},"model":${name},"choices":[],"usage":${json}}`,
    );
  }
}

/**
 * The end of a stream that failed (docs/interface.md, "Completions and streams"). Its shape was
 * tested: with `error` first and the role `error` every client library that was tried reports it,
 * while some ignore an error beside an ordinary delta.
 */
function failureEvent(admitted: AdmittedRequest, error: Envelope['error']): string {
  return dataEvent(
    JSON.stringify({
      error,
      id: admitted.generationId,
      object: 'chat.completion.chunk',
      created: admitted.createdAtSeconds,
      model: admitted.model.id,
      choices: [{ index: 0, delta: { role: 'error', content: '' }, finish_reason: 'error' }],
    }),
  );
}

/** `text` is JSON: line breaks can only separate tokens, so spaces may replace them. */
export function dataEvent(text: string): string {
  return text.includes('\n') ? `data: ${text.replaceAll('\n', ' ')}\n\n` : `data: ${text}\n\n`;
}
