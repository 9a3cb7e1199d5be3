import { cutText } from '#core/cut-text.ts';
import { isObject, type JsonObject } from '#core/json-object.ts';
import { NO_USAGE, type TokenUsage } from '#core/pricing.ts';
import type { CountTokens, EstimateTokens } from '#core/tokenizer.ts';
import type { ChatRequest } from '../../chat/chat-request.ts';
import { type Completion, hasReasoning, sumOfChoices, textOf } from '../../dialects/completion.ts';
import type { MeteredUsage, OutputSoFar, TotalMismatch } from '../../hold/delivery-hold.ts';
import type { AdmittedRequest } from '../provider/admitted-request.ts';
import { OutputEstimate } from './output-estimate.ts';
import { type MeasuredText, ProducedText } from './produced-text.ts';

import { hasUnreadCache, readUsage, totalMismatch, type UsageBounds } from './usage.ts';

/** A provider's texts can have any length. The ledger stores this much of them. */
const MAX_UPSTREAM_ID_CHARACTERS = 200;
const MAX_FINISH_REASON_CHARACTERS = 64;
const MAX_MODEL_CHARACTERS = 200;
const MAX_TIER_CHARACTERS = 64;

/** Meters a response in progress. Its usage can be read at any moment. */
export class ResponseMeter {
  readonly #bounds: UsageBounds;
  readonly #open = new Set<unknown>();
  readonly #finished = new Set<unknown>();
  /** Choices with reasoning outside of details, by index. */
  readonly #reasoning = new Set<unknown>();
  /** Usages of choices that reported their own, by index. */
  readonly #usages = new Map<unknown, JsonObject>();
  readonly #text = new ProducedText();
  #usage: TokenUsage | undefined;
  #mismatch: TotalMismatch | undefined;
  #lastUsage: unknown;
  #producedSinceUsage = false;
  #finishReason: string | undefined;
  #upstreamId: string | undefined;
  #model: string | undefined;
  #serviceTier: string | undefined;

  constructor(admitted: AdmittedRequest) {
    const { model, chat } = admitted;
    const { count = 1 } = chat.inputTokens.inputs ?? {};
    const longest = model.longestPrompt ?? model.contextWindow;
    this.#bounds = { contextWindow: count * longest, completions: chat.completions };
  }

  take(completion: Completion): void {
    if (typeof completion.id === 'string' && completion.id !== '') {
      this.#upstreamId ??= storable(completion.id, MAX_UPSTREAM_ID_CHARACTERS);
    }
    if (typeof completion.model === 'string') this.#model ??= storable(completion.model, MAX_MODEL_CHARACTERS);
    // The last one counts: a stream may begin with the requested tier.
    if (typeof completion.service_tier === 'string' && completion.service_tier !== '') {
      this.#serviceTier = storable(completion.service_tier, MAX_TIER_CHARACTERS);
    }
    for (const choice of completion.choices) {
      if (isObject(choice)) this.#takeChoice(choice);
    }
    if (completion.usage === undefined) return;
    const reported = this.#bounds.completions > 1 ? this.#ofAllChoices(completion) : completion.usage;
    this.#lastUsage = reported ?? this.#lastUsage;
    this.#mismatch = totalMismatch(reported) ?? this.#mismatch;
    const usage = readUsage(reported, this.#bounds);
    if (usage === undefined) return;
    this.#usage = usage;
    this.#producedSinceUsage = false;
  }

  /** Adds a chunk's usage to those of the other choices, if `asCompletion` took it from one. */
  #ofAllChoices({ choices, usage }: Completion): unknown {
    const choice = choices.find((one) => isObject(one) && one.usage === usage);
    if (!isObject(choice) || !isObject(usage)) {
      if (isObject(usage)) this.#usages.clear();
      return usage;
    }
    const { index = 0 } = choice;
    if (this.#usages.has(index) || this.#usages.size < this.#bounds.completions) this.#usages.set(index, usage);
    return sumOfChoices([...this.#usages.values()]);
  }

  /** Adds the size of text that was cut from the completion given to `take`. */
  takeMeasured(text: MeasuredText): void {
    this.#text.addMeasured(text);
  }

  /** Takes a chunk that adds this text and changes nothing else. */
  takeContent(text: string): void {
    this.#text.add(text);
    this.#producedSinceUsage = true;
  }

  #takeChoice(choice: Record<string, unknown>): void {
    const { index = 0, finish_reason: reason } = choice;
    const text = textOf(choice, this.#reasoning.has(index));
    if (text !== '') this.takeContent(text);
    if (this.#reasoning.size < this.#bounds.completions && hasReasoning(choice)) this.#reasoning.add(index);
    if (typeof reason === 'string' && reason !== '') {
      this.#finished.add(index);
      this.#open.delete(index);
      this.#finishReason = storable(reason, MAX_FINISH_REASON_CHARACTERS);
    } else if (!this.#finished.has(index)) {
      this.#open.add(index);
    }
  }

  facts(): { upstreamId?: string; finishReason?: string } {
    return {
      ...(this.#upstreamId === undefined ? {} : { upstreamId: this.#upstreamId }),
      ...(this.#finishReason === undefined ? {} : { finishReason: this.#finishReason }),
    };
  }

  /** Returns a function that reports the output so far and may be called often. */
  watched(estimateTokens: EstimateTokens): () => OutputSoFar {
    const estimate = new OutputEstimate(this.#text, estimateTokens);
    return () => ({
      tokens: estimate.tokens(),
      upstreamId: this.#upstreamId,
      usage: this.#usage,
      serviceTier: this.#serviceTier,
    });
  }

  /** The provider's name of the model. */
  get model(): string | undefined {
    return this.#model;
  }

  /** How the total in the provider's usage differed from the sum of its parts, if it did. */
  get mismatch(): TotalMismatch | undefined {
    return this.#mismatch;
  }

  /** True if the provider's usage has a count about a cache that no rule reads. */
  hasUnreadCache(): boolean {
    return hasUnreadCache(this.#lastUsage);
  }

  /** Choices without a finish reason, at most as many as the client requested. */
  unfinished(): readonly unknown[] {
    return [...this.#open].slice(0, this.#bounds.completions);
  }

  /** True if every choice that the client requested has a finish reason. */
  allFinished(): boolean {
    return this.#open.size === 0 && this.#finished.size >= this.#bounds.completions;
  }

  /**
   * Returns the provider's usage if it covers all of the output. What is missing is counted.
   * `isCut`: the response was not read to its end, for a reason that a client can cause. Images and
   * files, which only the provider can count, are then charged at their ceilings.
   */
  usage(chat: ChatRequest, countTokens: CountTokens, isCut: boolean): MeteredUsage | Promise<MeteredUsage> {
    const reported = this.#usage;
    if (reported === undefined || !this.#isCovered(reported)) return this.#counted(chat, countTokens, isCut);
    return this.#served({ usageCounted: false, usage: reported });
  }

  #served(metered: MeteredUsage): MeteredUsage {
    return this.#serviceTier === undefined ? metered : { ...metered, serviceTier: this.#serviceTier };
  }

  #isCovered({ completionTokens }: TokenUsage): boolean {
    const choices = this.#open.size + this.#finished.size;
    const isOfAll = this.#usages.size === 0 || this.#usages.size >= choices;
    return isOfAll && !this.#producedSinceUsage && (completionTokens > 0 || this.#text.isEmpty());
  }

  async #counted(chat: ChatRequest, countTokens: CountTokens, isCut: boolean): Promise<MeteredUsage> {
    const reported = this.#usage;
    if (reported === undefined) {
      // Read before the count: a body that is evicted during it would be added as omitted text.
      const omitted = chat.tokensOmitted();
      const [completion = 0, ...counted] = await countTokens([this.#text.kept(), ...chat.promptText()]);
      const prompt = counted.reduce((sum, tokens) => sum + tokens, omitted);
      return this.#served({
        usageCounted: true,
        usage: {
          ...NO_USAGE,
          promptTokens: isCut ? mostPromptTokensOf(chat, prompt) : promptTokensOf(chat, prompt),
          completionTokens: this.#text.tokensOfAll(completion),
        },
      });
    }
    const [kept = 0] = await countTokens([this.#text.kept()]);
    const counted = this.#text.tokensOfAll(kept);
    if (counted <= reported.completionTokens) return this.#served({ usageCounted: false, usage: reported });
    return this.#served({ usageCounted: true, usage: { ...reported, completionTokens: counted } });
  }
}

/** Tokens of a prompt whose text has `textTokens`, which do not include images and files. */
export function promptTokensOf(chat: ChatRequest, textTokens: number): number {
  const { givenTokens = 0 } = chat.inputTokens.inputs ?? {};
  return chat.hasMedia ? Math.max(sentEstimate(chat), textTokens) : textTokens + givenTokens;
}

/** Estimate of the prompt as it was sent to the target that was called last. */
export function sentEstimate(chat: ChatRequest): number {
  return chat.inputTokens.estimate - chat.unsentTokens();
}

/**
 * Tokens of the prompt with images and files at their ceilings, as in the hold. Expensive models
 * bill up to 33 times the estimate of an image, and a small file may unpack to a long text.
 */
function mostPromptTokensOf(chat: ChatRequest, textTokens: number): number {
  const { imageCeiling = 0, fileCeiling = 0 } = chat.inputTokens;
  return Math.max(promptTokensOf(chat, textTokens), textTokens + imageCeiling, fileCeiling);
}

/** Removes what PostgreSQL refuses, such as NUL: a charge must not fail for a provider's odd id. */
function storable(text: string, maxCharacters: number): string {
  return cutText(text, maxCharacters)
    .replace(/\p{Cc}/gu, '')
    .toWellFormed();
}
