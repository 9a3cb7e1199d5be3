import type { ModelView } from '#contract/money.ts';
import type { PlayChat } from '#contract/playground.ts';
import { present } from '#core/present.ts';

/** Values of the form. `undefined`: the box is empty. */
export interface PlayDraft {
  readonly system: string;
  readonly maxTokens: number | undefined;
  readonly temperature: number | undefined;
  /** Empty: the model's default. */
  readonly effort: string;
  /** A list in JSON. */
  readonly tools: string;
}

export const NEW_PLAY: PlayDraft = { system: '', maxTokens: 1_000, temperature: undefined, effort: '', tools: '' };

/** The tools of a draft, or the problem with them. The gateway checks each tool. */
export function toolsIn(text: string): { readonly tools?: readonly unknown[]; readonly problem?: string } {
  if (text.trim() === '') return {};
  try {
    const tools: unknown = JSON.parse(text);
    if (Array.isArray(tools)) return tools.length === 0 ? {} : { tools };
  } catch {
    // Reported below.
  }
  return { problem: 'Enter a JSON list of tools.' };
}

/** The request to a model, with the settings that it supports. */
export function chatFor(model: ModelView, draft: PlayDraft): Omit<PlayChat, 'messages'> {
  const { maxTokens = 1, temperature, effort, tools } = draft;
  return {
    model: model.id,
    max_tokens: maxTokens,
    ...present({
      temperature: model.takesTemperature ? temperature : undefined,
      reasoning_effort: model.reasoningEfforts.includes(effort) ? effort : undefined,
      tools: model.capabilities.includes('tools') ? toolsIn(tools).tools : undefined,
    }),
  };
}
