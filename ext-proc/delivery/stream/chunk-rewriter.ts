import type { Completion } from '../../dialects/completion.ts';
import { editObject, type MemberEdits, membersOf } from '../../dialects/json-members.ts';
import { hidingEdits } from '../../dialects/shown-members.ts';

/**
 * Gives every chunk of a stream the gateway's `id` and the public model id, and removes members
 * that are not for the client. Providers begin each chunk of a stream with the same members up to
 * the model's name. That beginning is edited once and then recognized by comparison.
 */
export class ChunkRewriter {
  readonly #edits: MemberEdits;
  readonly #withoutUsage: MemberEdits;
  #prefix = '';
  #edited = '';
  #id: unknown;
  #model: unknown;

  constructor(generationId: string, modelId: string) {
    this.#edits = { id: JSON.stringify(generationId), model: JSON.stringify(modelId) };
    this.#withoutUsage = { ...this.#edits, usage: undefined };
  }

  rewrite(text: string, completion: Completion): string {
    const hiding = hidingEdits(completion);
    if (hiding !== undefined) return editObject(text, { ...hiding, ...this.#edits });
    // The parsed values reveal a second `id` or `model` after the prefix: the last one counts.
    const isAsBefore = completion.id === this.#id && completion.model === this.#model && this.#prefix !== '';
    // Comparing slices takes a tenth of what startsWith takes.
    if (isAsBefore && text.slice(0, this.#prefix.length) === this.#prefix) {
      return this.#edited + text.slice(this.#prefix.length);
    }
    const members = membersOf(text);
    const end = members.reduce(
      (last, member) => (member.name === 'id' || member.name === 'model' ? member.valueEnd : last),
      0,
    );
    const start = text.slice(0, end);
    this.#id = completion.id;
    this.#model = completion.model;
    if (completion.id === undefined || completion.model === undefined) {
      this.#prefix = '';
      return editObject(text, this.#edits, members);
    }
    const before = members.filter((member) => member.valueEnd <= end);
    this.#prefix = start;
    this.#edited = editObject(`${start}}`, this.#edits, before).slice(0, -1);
    return this.#edited + text.slice(end);
  }

  rewriteWithoutUsage(text: string, completion: Completion): string {
    return editObject(text, { ...hidingEdits(completion), ...this.#withoutUsage });
  }
}
