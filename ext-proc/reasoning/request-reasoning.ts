import type { Target } from '#core/config/gateway-config.ts';
import type { ReasoningMember } from '../chat/called-messages.ts';
import type { ChatRequest } from '../chat/chat-request.ts';
import type { ChatWithModel } from '../chat/choose-model.ts';
import { together } from '../chat/tokens/input-tokens.ts';
import type { MemoryReservation } from '../fairness/shared-budget.ts';
import type { FoundReasoning, KeptReasoning } from './kept-reasoning.ts';
import { ProducedMessage } from './produced-message.ts';
import { reasoningSeal } from './reasoning-seal.ts';
import { addedTokens, type ReasoningTokens } from './reasoning-tokens.ts';

export type AddedReasoning = Pick<FoundReasoning, 'message' | 'json' | 'phase'>;

/** Reasoning that a request lacked, and the way to keep that of its response. */
export interface RequestReasoning {
  /**
   * Returns the reasoning that this target can read. It is empty if the target gets the client's
   * own body. Counts of the prompt include what was returned last.
   */
  of(target: Target, isOwnBody?: boolean): readonly AddedReasoning[];
  /** Gathers the response of this target. `undefined`: there are several completions. */
  messageOf(target: Target): ProducedMessage | undefined;
  /** Keeps what is known of a whole response. Never rejects, and never takes long. */
  keep(message: ProducedMessage | undefined, target: Target): Promise<void>;
}

export interface ReasoningRequest extends ChatWithModel {
  readonly organizationId: string;
  /** The whole key, as the client sent it. */
  readonly apiKey: string;
  /** Memory of the request's body. */
  readonly memory: Pick<MemoryReservation, 'take'>;
  /** Aborts when the client leaves. */
  readonly gone: () => AbortSignal;
}

/** A chat request that is counted with the reasoning that it lacked. */
export interface ChatWithReasoning extends ChatWithModel {
  /** Absent: no target has reasoning that is kept, or the request has no tools. */
  readonly reasoning?: RequestReasoning;
}

/** Finds the reasoning that a request lacks, before admission, so that the hold covers it. */
export function findReasoning(
  kept: KeptReasoning,
  request: ReasoningRequest,
): ChatWithReasoning | Promise<ChatWithReasoning> {
  const { chat, choice } = request;
  const members = new Set(choice.model.targets.flatMap((target) => reasoningMember(target) ?? []));
  return members.size > 0 ? findKept(kept, request, members) : { chat, choice };
}

async function findKept(
  kept: KeptReasoning,
  request: ReasoningRequest,
  members: ReadonlySet<ReasoningMember>,
): Promise<ChatWithReasoning> {
  const { chat, choice, organizationId, apiKey, memory, gone } = request;
  const messages = chat.calledMessages(members);
  if (messages.length === 0 && !chat.hasTools) return { chat, choice };
  const seal = reasoningSeal(organizationId, apiKey);
  const heard = chat.lastHeard();
  const takeMemory = (bytes: number) => memory.take(bytes);
  const found = await kept.find(seal, organizationId, { messages, takeMemory, gone });
  const placeholders = members.has('reasoning_content') ? chat.messagesWithoutReasoning : 0;
  const ofAll = addedTokens(found, placeholders);
  const fits = found.length > 0 && hasRoom(request, ofAll);
  let inserted = fits ? found : [];
  const added = fits ? ofAll : addedTokens([], placeholders);
  let sentTokens = 0;
  const reasoning: RequestReasoning = {
    of(target, isOwnBody = false) {
      const readable = isOwnBody ? [] : readableBy(target, inserted);
      const hasPlaceholders = !isOwnBody && reasoningMember(target) === 'reasoning_content';
      const sentPlaceholders = hasPlaceholders ? placeholders - readable.length : 0;
      sentTokens = addedTokens(readable, sentPlaceholders).estimate;
      return readable.map(({ message, json, phase }) => ({ message, json, phase }));
    },
    messageOf(target) {
      // The client goes on with one of several completions, and the gateway cannot know which.
      return chat.completions > 1 ? undefined : new ProducedMessage(reasoningMember(target));
    },
    async keep(message, target) {
      const produced = message?.produced();
      if (produced === undefined) return;
      const { provider, model } = target;
      await kept.keep(seal, organizationId, { provider: provider.name, model }, { ...produced, heard });
    },
  };
  if (!fits && placeholders === 0) return { chat, choice, reasoning };
  const counted: ChatRequest = {
    ...chat,
    inputTokens: together(chat.inputTokens, added),
    keepText(mostBytes) {
      inserted = [];
      return chat.keepText(mostBytes);
    },
    tokensOmitted: () => chat.tokensOmitted() + sentTokens,
    unsentTokens: () => added.estimate - sentTokens,
  };
  return { chat: counted, choice, reasoning };
}

/**
 * The member of messages in which a target expects its reasoning. `undefined`: none. Targets that
 * speak chat completions only expect it if `reasoning_memory` is configured.
 */
function reasoningMember({ api, provider }: Target): ReasoningMember | undefined {
  return api === 'chat' ? provider.reasoningMemory : 'reasoning_details';
}

/** True if the reasoning fits: a client must not be refused for what it does not know of. */
function hasRoom({ chat, choice: { model, outputLimit } }: ChatWithModel, added: ReasoningTokens): boolean {
  return chat.inputTokens.estimate + added.estimate + outputLimit <= model.contextWindow;
}

function readableBy(target: Target, found: readonly FoundReasoning[]): readonly FoundReasoning[] {
  const wanted = reasoningMember(target);
  return found.filter(
    ({ provider, model, member }) => provider === target.provider.name && model === target.model && member === wanted,
  );
}
