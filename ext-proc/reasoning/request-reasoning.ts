import type { Target } from '#core/config/gateway-config.ts';
import type { ChatRequest } from '../chat/chat-request.ts';
import type { ChatWithModel } from '../chat/choose-model.ts';
import { countTokens } from '../chat/held-body.ts';
import type { InputTokens } from '../chat/tokens/input-tokens.ts';
import { PromptRecorder } from '../chat/tokens/prompt-record.ts';
import type { MemoryReservation } from '../fairness/shared-budget.ts';
import { finish } from '../fairness/steps.ts';
import type { FoundReasoning, KeptReasoning } from './kept-reasoning.ts';
import type { ProducedMessage } from './produced-message.ts';
import { reasoningSeal } from './reasoning-seal.ts';

/** Reasoning that one message of a request lacked. */
export type AddedReasoning = Pick<FoundReasoning, 'message' | 'details'>;

/** Reasoning that a request lacked, and the way to keep that of its response. */
export interface RequestReasoning {
  /** Returns what this target can read. A count of the prompt includes what was returned last. */
  of(target: Target): readonly AddedReasoning[];
  /** Keeps the reasoning of a whole response. Never rejects, and never takes long. */
  keep(message: ProducedMessage | undefined, target: Target): Promise<void>;
}

export interface ReasoningRequest extends ChatWithModel {
  readonly organizationId: string;
  /** The whole key, as the client sent it. */
  readonly apiKey: string;
  /** Memory of the request's body. */
  readonly memory: Pick<MemoryReservation, 'take'>;
}

/** A chat request that is counted with the reasoning that it lacked. */
export interface ChatWithReasoning extends ChatWithModel {
  /** Absent: no target of the model has reasoning that is kept. */
  readonly reasoning?: RequestReasoning;
}

/**
 * Finds the reasoning that a request lacks. It stands in the request before the admission, so the
 * hold covers it as if the client had sent it.
 */
export function findReasoning(
  kept: KeptReasoning,
  request: ReasoningRequest,
): ChatWithReasoning | Promise<ChatWithReasoning> {
  const { chat, choice } = request;
  return choice.model.targets.some(keepsReasoning) ? findKept(kept, request) : { chat, choice };
}

async function findKept(kept: KeptReasoning, request: ReasoningRequest): Promise<ChatWithReasoning> {
  const { chat, choice, organizationId, apiKey, memory } = request;
  const messages = chat.calledMessages();
  if (messages.length === 0 && !chat.hasTools) return { chat, choice };
  const seal = reasoningSeal(organizationId, apiKey);
  const found = messages.length === 0 ? [] : await kept.find(seal, organizationId, messages);
  const added = found.length === 0 ? undefined : addedTokens(found);
  const fits = added !== undefined && hasRoom(request, added) && memory.take(bytesOf(found));
  let inserted = fits ? found : [];
  let sentTokens = 0;
  const reasoning: RequestReasoning = {
    of(target) {
      const readable = readableBy(target, inserted);
      sentTokens = Math.ceil(((added?.estimate ?? 0) * bytesOf(readable)) / Math.max(1, bytesOf(found)));
      return readable.map(({ message, details }) => ({ message, details }));
    },
    async keep(message, target) {
      const produced = message?.reasoning();
      if (produced === undefined) return;
      const { provider, model } = target;
      await kept.keep(seal, organizationId, { provider: provider.name, model }, produced);
    },
  };
  if (!fits) return { chat, choice, reasoning };
  const counted: ChatRequest = {
    ...chat,
    inputTokens: together(chat.inputTokens, added),
    keepText(mostBytes) {
      inserted = [];
      return chat.keepText(mostBytes);
    },
    tokensOmitted: () => chat.tokensOmitted() + sentTokens,
  };
  return { chat: counted, choice, reasoning };
}

/** Other targets speak chat completions, where no reasoning comes back. */
export function keepsReasoning({ api }: Target): boolean {
  return api !== 'chat';
}

function bytesOf(found: readonly FoundReasoning[]): number {
  return found.reduce((sum, { json }) => sum + json.length, 0);
}

/** Counts the details as if the client had sent them. */
function addedTokens(found: readonly FoundReasoning[]): InputTokens {
  const bytes = Buffer.concat(found.map(({ json }) => json));
  const recorder = new PromptRecorder();
  recorder.addJson({ start: 0, end: bytes.length });
  const prompt = recorder.record();
  return finish(countTokens({ bytes, isPlain: false, prompt, imageSizes: [], fileBytes: [], fields: [] }, true));
}

/** Reasoning that the client does not know of must not make its request too long. */
function hasRoom({ chat, choice: { model, outputLimit } }: ChatWithModel, added: InputTokens): boolean {
  return chat.inputTokens.estimate + added.estimate + outputLimit <= model.contextWindow;
}

function together(sent: InputTokens, added: InputTokens): InputTokens {
  return {
    ...sent,
    estimate: sent.estimate + added.estimate,
    ceiling: sent.ceiling + added.ceiling,
    normalizedCeiling: sent.normalizedCeiling + added.normalizedCeiling,
    besidesText: {
      estimate: sent.besidesText.estimate + added.estimate,
      ceiling: sent.besidesText.ceiling + added.normalizedCeiling,
    },
  };
}

function readableBy(target: Target, found: readonly FoundReasoning[]): readonly FoundReasoning[] {
  if (!keepsReasoning(target)) return [];
  return found.filter(({ provider, model }) => provider === target.provider.name && model === target.model);
}
