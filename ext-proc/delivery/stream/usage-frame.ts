import type { Completion } from '../../dialects/completion.ts';
import { editObject, membersOf } from '../../dialects/json-members.ts';
import { hidingEdits } from '../../dialects/shown-members.ts';
import type { MeteredUsage } from '../../hold/delivery-hold.ts';
import type { AdmittedRequest } from '../provider/admitted-request.ts';
import { usageJson } from '../response/usage.ts';
import { dataEvent } from './final-event.ts';

/**
 * Holds back the chunk with the usage until its cost is known. The client gets it before `[DONE]`,
 * even if the provider sent the usage with its last content, with every chunk, or not at all.
 */
export class UsageFrame {
  readonly #admitted: AdmittedRequest;
  /** The last chunk that had a usage. */
  #text: string | undefined;
  /** The usage chunk without choices. */
  #alone: Completion | undefined;

  constructor(admitted: AdmittedRequest) {
    this.#admitted = admitted;
  }

  /** `alone`: the parsed chunk if it has no choices. It is sent only when the cost is known. */
  keep(text: string, alone: Completion | undefined): void {
    this.#text = text;
    this.#alone = alone;
  }

  event({ usage, usageCounted }: MeteredUsage, costUsd: number): string {
    const { generationId, model, createdAtSeconds } = this.#admitted;
    const text = this.#text ?? '{}';
    const members = membersOf(text);
    const sent = members.findLast((member) => member.name === 'usage');
    // A counted usage has no details, and the provider's would not fit it.
    const provided = usageCounted || sent === undefined ? undefined : text.slice(sent.valueStart, sent.valueEnd);
    const json = usageJson(provided, usage, costUsd);
    const id = JSON.stringify(generationId);
    const name = JSON.stringify(model.id);
    if (this.#alone) {
      const edits = { ...hidingEdits(this.#alone), id, model: name, choices: '[]', usage: json };
      return dataEvent(editObject(text, edits, members));
    }
    return dataEvent(
      `{"id":${id},"object":"chat.completion.chunk","created":${createdAtSeconds},"model":${name},"choices":[],"usage":${json}}`,
    );
  }
}
