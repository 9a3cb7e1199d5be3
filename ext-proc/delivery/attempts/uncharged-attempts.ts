import type { Target } from '#core/config/gateway-config.ts';
import { flatTable, NO_PRICES, NO_USAGE, type PriceTable } from '#core/pricing.ts';
import type { CountTokens } from '#core/tokenizer.ts';
import type { UnchargedAttempt } from '../../hold/attempt.ts';
import { FAILURES, workFor } from '../provider/provider-failure.ts';
import { sentTierOf } from '../provider/sent-tier.ts';
import { promptTokensOf, sentEstimate } from '../response/response-meter.ts';
import type { ActiveDelivery, AskedProvider, FailedAttempt, UnchargedRecorder } from './active-delivery.ts';

/**
 * Prompts of uncharged attempts are counted only up to these limits, at once and per second; others
 * are estimated. The limits are in tokens of the ceiling, which is about the number of bytes. The
 * tokenizer takes 70 ms for a million bytes of English or code and 1.3 s for Chinese (measured), so
 * counting takes 1 to 16 % of its thread. A failing provider must not cost a core, and charges wait
 * for the same thread.
 */
const MOST_AT_ONCE = 2 * 1024 * 1024;
const MOST_PER_SECOND = 128 * 1024;
/** `estimateTokens` in count-tokens.ts assumes the same. */
const BYTES_PER_TOKEN = 4;

const FREE = flatTable(NO_PRICES);

/** Without cost if the provider bills nothing for a client that leaves early. */
function costTableOf({ provider, costTable }: Target, failure: FailedAttempt['failure']): PriceTable | undefined {
  return failure === FAILURES.abandoned && provider.billPromptOnDisconnect === false ? FREE : costTable;
}

/** Records uncharged attempts with the tokens that the provider may bill. */
export class UnchargedAttempts implements UnchargedRecorder {
  readonly #countTokens: CountTokens;
  readonly #underWay = new Set<Promise<void>>();
  #mayCount = MOST_AT_ONCE;
  #filledAtMs = 0;

  constructor(countTokens: CountTokens) {
    this.#countTokens = countTokens;
  }

  /** Returns at once and counts in the background. Call it before the next attempt. */
  record(delivery: ActiveDelivery, { target, failure, asked }: FailedAttempt): void {
    if (asked === undefined) return;
    const work = workFor(failure, asked.wasSent);
    const attempt = {
      attempt: delivery.attempts.length,
      provider: target.provider.name,
      providerModel: target.model,
      costTable: costTableOf(target, failure),
      sentTier: sentTierOf(target, delivery.admitted.chat),
      ...(asked.requestId === undefined ? {} : { upstreamId: asked.requestId }),
      askedAtMs: delivery.startedAtMs + asked.askedMs,
      result: failure.result,
      work,
    };
    const { hold } = delivery;
    if (work === 'some') this.#keep(this.#withTokens(delivery, asked, attempt).then((whole) => hold.uncharged(whole)));
    else hold.uncharged(attempt);
  }

  /** Resolves when all attempts so far are recorded. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  #keep(recording: Promise<void>): void {
    this.#underWay.add(recording);
    void recording.finally(() => this.#underWay.delete(recording));
  }

  async #withTokens(
    delivery: ActiveDelivery,
    asked: AskedProvider,
    attempt: UnchargedAttempt,
  ): Promise<UnchargedAttempt> {
    const { chat, outputLimit } = delivery.admitted;
    // Read before the next target is called, which changes it.
    const estimate = sentEstimate(chat);
    const counted = await this.#countPrompt(delivery);
    // Only the length of an undelivered response is known; the output limit bounds it.
    const produced = chat.stream ? 0 : Math.ceil(asked.responseBytes / BYTES_PER_TOKEN);
    const completionTokens = Math.min(produced, outputLimit * chat.completions);
    const promptTokens = counted ?? estimate;
    const source = counted === undefined || completionTokens > 0 ? 'estimated' : 'counted';
    return {
      ...attempt,
      tokens: { usage: { ...NO_USAGE, promptTokens, completionTokens }, source },
    };
  }

  /** Counts a prompt. `undefined`: the limits above leave no room for it. */
  async #countPrompt({ admitted: { chat }, clock }: ActiveDelivery): Promise<number | undefined> {
    const { ceiling, inputs } = chat.inputTokens;
    const nowMs = clock.monotonicMs();
    this.#mayCount = Math.min(MOST_AT_ONCE, this.#mayCount + ((nowMs - this.#filledAtMs) / 1000) * MOST_PER_SECOND);
    this.#filledAtMs = nowMs;
    if (ceiling > this.#mayCount) return undefined;
    this.#mayCount -= ceiling;
    // Read before the count, because the body may be evicted during it.
    const [omitted, least] = [chat.tokensOmitted(), promptTokensOf(chat, 0)];
    const counts = await this.#countTokens(chat.promptText());
    const counted = counts.reduce((sum, tokens) => sum + tokens, omitted);
    return Math.max(least, counted + (inputs?.givenTokens ?? 0));
  }
}
