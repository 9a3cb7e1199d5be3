import { isObject, type JsonObject } from '#core/json-object.ts';
import type { Completion } from '../../dialects/completion.ts';
import { editObject } from '../../dialects/json-members.ts';
import { hidingEdits, shownElements } from '../../dialects/shown-members.ts';
import type { ChargedUsage } from '../door.ts';

export interface EmbeddingsResponse {
  /** The basis of the charge. It has no choices. */
  readonly completion: Completion;
  /** The provider's text with our name of the model, without usage and closing brace. */
  readonly open: string;
}

/** `undefined`: the response has no embeddings. `model`: its name for the client. */
export function readEmbeddings(text: string, said: JsonObject, model: string): EmbeddingsResponse | undefined {
  const { data, id, model: served } = said;
  if (!Array.isArray(data) || data.length === 0 || !data.every(isEmbedding)) return undefined;
  const shown = shownElements(data);
  const edits = {
    ...hidingEdits({ ...said, choices: [] }),
    ...(shown === undefined ? {} : { data: JSON.stringify(shown) }),
    model: JSON.stringify(model),
    usage: undefined,
  };
  const usage = usageOf(said.usage);
  return {
    completion: { id, model: served, choices: [], ...(usage === undefined ? {} : { usage }) },
    open: editObject(text, edits).slice(0, -1),
  };
}

function isEmbedding(element: unknown): boolean {
  if (!isObject(element)) return false;
  return typeof element.embedding === 'string' || Array.isArray(element.embedding);
}

/** The usage in chat's form. Some providers report only a total (Voyage). */
function usageOf(usage: unknown): JsonObject | undefined {
  if (!isObject(usage)) return undefined;
  return { prompt_tokens: usage.prompt_tokens ?? usage.total_tokens, completion_tokens: 0 };
}

export function embeddingsUsage({ usage: { promptTokens }, costUsd }: ChargedUsage): string {
  return JSON.stringify({ prompt_tokens: promptTokens, total_tokens: promptTokens, cost: costUsd });
}
