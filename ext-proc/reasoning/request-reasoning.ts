import type { Target } from '#core/config/gateway-config.ts';
import type { ReasoningMember } from '../chat/called-messages.ts';
import type { ChatRequest } from '../chat/chat-request.ts';
import type { ChatWithModel } from '../chat/choose-model.ts';
import { LOST_REASONING } from '../chat/edited-messages.ts';
import { countTokens } from '../chat/held-body.ts';
import type { InputTokens } from '../chat/tokens/input-tokens.ts';
import { PromptRecorder } from '../chat/tokens/prompt-record.ts';
import type { MemoryReservation } from '../fairness/shared-budget.ts';
import { finish } from '../fairness/steps.ts';
import type { FoundReasoning, KeptReasoning } from './kept-reasoning.ts';
import { ProducedMessage } from './produced-message.ts';
import { reasoningSeal } from './reasoning-seal.ts';

/** Reasoning that one message of a request lacked. */
export type AddedReasoning = Pick<FoundReasoning, 'message' | 'json'>;

/** Reasoning that a request lacked, and the way to keep that of its response. */
export interface RequestReasoning {
  /** Returns what this target can read. A count of the prompt includes what was returned last. */
  of(target: Target): readonly AddedReasoning[];
  /** For the response of this target. `undefined`: its reasoning is not kept. */
  messageOf(target: Target): ProducedMessage | undefined;
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
  const members = new Set(choice.model.targets.flatMap((target) => reasoningMember(target) ?? []));
  return members.size > 0 ? findKept(kept, request, members) : { chat, choice };
}

async function findKept(
  kept: KeptReasoning,
  request: ReasoningRequest,
  members: ReadonlySet<ReasoningMember>,
): Promise<ChatWithReasoning> {
  const { chat, choice, organizationId, apiKey, memory } = request;
  const lacking = [...members]
    .map((member) => ({ member, messages: chat.calledMessages(member) }))
    .filter(({ messages }) => messages.length > 0);
  if (lacking.length === 0 && !chat.hasTools) return { chat, choice };
  const seal = reasoningSeal(organizationId, apiKey);
  const lookups = lacking.map(({ member, messages }) => kept.find(seal, organizationId, member, messages));
  const found = (await Promise.all(lookups)).flat();
  const spaces = members.has('reasoning_content') ? chat.messagesWithoutReasoning : 0;
  const [ofSpaces, ofAll] = [addedTokens([], spaces), addedTokens(found, spaces)];
  const fits = found.length > 0 && hasRoom(request, ofAll) && memory.take(bytesOf(found));
  let inserted = fits ? found : [];
  let sentTokens = 0;
  const reasoning: RequestReasoning = {
    of(target) {
      const readable = readableBy(target, inserted);
      const share = bytesOf(readable) / Math.max(1, bytesOf(found));
      const sentSpaces = reasoningMember(target) === 'reasoning_content' ? spaces - readable.length : 0;
      const spacesShare = sentSpaces / Math.max(1, spaces);
      sentTokens = Math.ceil((ofAll.estimate - ofSpaces.estimate) * share + ofSpaces.estimate * spacesShare);
      return readable.map(({ message, json }) => ({ message, json }));
    },
    messageOf(target) {
      const member = reasoningMember(target);
      // A client takes one of several completions, and nobody knows which.
      return member === undefined || chat.completions > 1 ? undefined : new ProducedMessage(member);
    },
    async keep(message, target) {
      const produced = message?.reasoning();
      if (produced === undefined) return;
      const { provider, model } = target;
      await kept.keep(seal, organizationId, { provider: provider.name, model }, produced);
    },
  };
  const added = fits ? ofAll : ofSpaces;
  if (added === NO_TOKENS) return { chat, choice, reasoning };
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

/**
 * The member of messages in which a target's reasoning comes back. `undefined`: it speaks chat
 * completions, where none does unless its provider is known to want it.
 */
function reasoningMember({ api, provider }: Target): ReasoningMember | undefined {
  return api === 'chat' ? provider.reasoningMemory : 'reasoning_details';
}

function bytesOf(found: readonly FoundReasoning[]): number {
  return found.reduce((sum, { json }) => sum + json.length, 0);
}

const NO_TOKENS: InputTokens = {
  ...{ estimate: 0, ceiling: 0, normalizedCeiling: 0 },
  besidesText: { estimate: 0, ceiling: 0 },
};

/** Counts reasoning, and as many spaces in its place, as if the client had sent them. */
function addedTokens(found: readonly FoundReasoning[], spaces: number): InputTokens {
  const bytes = Buffer.concat([
    ...found.map(({ json }) => json),
    Buffer.alloc(LOST_REASONING.length * spaces, LOST_REASONING),
  ]);
  if (bytes.length === 0) return NO_TOKENS;
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
  const wanted = reasoningMember(target);
  return found.filter(
    ({ provider, model, member }) => provider === target.provider.name && model === target.model && member === wanted,
  );
}
