import { promptTokensOf } from './answer-meter.ts';
import type { CountTokens, Order, UnchargedAttempt } from './delivery.ts';
import type { AskedProvider, FailedAttempt } from './failed-attempt.ts';
import { workFor } from './provider-failure.ts';
import type { Run } from './run.ts';

/**
 * Prompts that are counted for the record alone, all together, by the ceilings of their tokens: some two seconds of the tokenizer. Beyond it
 * they are estimated, because charges wait for the same tokenizer.
 */
const MAX_COUNTING_TOKENS = 4 * 1024 * 1024;
/** As in count-tokens.ts. */
const BYTES_PER_TOKEN = 4;

/** Tells the account of each attempt that is charged to nobody, with what its provider may bill. */
export class UnchargedAttempts {
  readonly #countTokens: CountTokens;
  readonly #underWay = new Set<Promise<void>>();
  #countingTokens = 0;

  constructor(countTokens: CountTokens) {
    this.#countTokens = countTokens;
  }

  /** Returns at once; nobody waits for the count. Call it before the next attempt. */
  record(run: Run, { target, failure, asked }: FailedAttempt): void {
    if (asked === undefined) return;
    const work = workFor(failure, asked.wasSent);
    const attempt = {
      attempt: run.attempts.length,
      provider: target.provider.name,
      providerModel: target.model,
      ...(asked.requestId === undefined ? {} : { upstreamId: asked.requestId }),
      askedAtMs: run.startedAtMs + asked.askedMs,
      result: failure.result,
      work,
    };
    const { account, order } = run;
    if (work === 'some') this.#keep(this.#withTokens(order, asked, attempt).then((whole) => account.uncharged(whole)));
    else account.uncharged(attempt);
  }

  /** Resolves when all of them are told. */
  async settled(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  #keep(recording: Promise<void>): void {
    this.#underWay.add(recording);
    void recording.finally(() => this.#underWay.delete(recording));
  }

  async #withTokens(order: Order, asked: AskedProvider, attempt: UnchargedAttempt): Promise<UnchargedAttempt> {
    const { chat, outputLimit } = order;
    const counted = await this.#countPrompt(order);
    // Of an answer that was not passed on its length is all that is known, and the provider was told how long it may be at most.
    const produced = chat.stream ? 0 : Math.ceil(asked.answerBytes / BYTES_PER_TOKEN);
    const completionTokens = Math.min(produced, outputLimit * chat.completions);
    const promptTokens = counted ?? chat.inputTokens.estimate;
    const source = counted === undefined || completionTokens > 0 ? 'estimated' : 'counted';
    return {
      ...attempt,
      tokens: { usage: { promptTokens, completionTokens, cachedTokens: 0, reasoningTokens: 0 }, source },
    };
  }

  async #countPrompt({ chat }: Order): Promise<number | undefined> {
    const { ceiling } = chat.inputTokens;
    if (this.#countingTokens + ceiling > MAX_COUNTING_TOKENS) return undefined;
    this.#countingTokens += ceiling;
    const [counted = 0] = await this.#countTokens([chat.promptText()]);
    this.#countingTokens -= ceiling;
    return promptTokensOf(chat, counted);
  }
}
