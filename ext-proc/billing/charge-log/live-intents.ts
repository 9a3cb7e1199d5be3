import type { Clock } from '#core/clock.ts';
import { present } from '#core/present.ts';
import type { MeteredUsage, OutputSoFar } from '../../hold/delivery-hold.ts';
import type { Asked, AskedTarget, Delivered, Intent } from './intent.ts';
import { askedAgainEntry, askedEntry, deliveredEntry, endEntry, entriesOf } from './intent-entries.ts';

export type LoggedRequest = ReturnType<LiveIntents['open']>;

interface Live {
  readonly intent: Intent;
  asked: Asked;
  output: (() => OutputSoFar) | undefined;
  delivered: Delivered | undefined;
  /** True while the charge is being written, which replaces the request in the log. */
  charging: boolean;
}

/** The log may lag behind the delivered output by this much. */
const LOOK_EVERY_MS = 100;

/** Requests that this process has sent to providers, but not settled. `add` writes an entry. */
export class LiveIntents {
  readonly #clock: Clock;
  readonly #add: (entry: string) => void;
  readonly #live = new Map<string, Live>();
  /** Absent while no request is live, so that an idle process is not woken. */
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock, add: (entry: string) => void) {
    this.#clock = clock;
    this.#add = add;
  }

  open(intent: Intent) {
    const { generationId } = intent;
    let live: Live | undefined;
    return {
      /** Notes that a provider is about to be called. */
      asked: (target: AskedTarget): void => {
        const asked = { ...target, attempt: (live?.asked.attempt ?? 0) + 1, askedAtMs: this.#clock.nowMs() };
        if (live === undefined) live = this.#begin(intent, asked);
        else {
          live.asked = asked;
          this.#add(askedAgainEntry(generationId, asked));
        }
      },
      /** Notes that delivery of the stream begins. `output` is read every 100 ms until its end. */
      delivers: (output: () => OutputSoFar): void => {
        if (live) live.output = output;
      },
      /** Notes that the stream has ended and is about to be charged. */
      outputEnded: (ended: MeteredUsage): void => {
        if (live?.output) this.#note(live, this.#clock.nowMs(), ended);
      },
      /** Notes that the request ended without a charge. Changes nothing after its charge. */
      settled: (): void => {
        if (live && this.#live.delete(generationId)) this.#add(endEntry(generationId));
      },
    };
  }

  /** Notes whether the charge of a request is being written. */
  charging(generationId: string, charging: boolean): void {
    const live = this.#live.get(generationId);
    if (live) live.charging = charging;
  }

  /** Forgets a request whose charge is durable. */
  charged(generationId: string): void {
    this.#live.delete(generationId);
  }

  /** Entries of the live requests, without those whose charge is being written. */
  entries(): string[] {
    return [...this.#live.values()].flatMap(({ intent, asked, delivered, charging }) =>
      charging ? [] : entriesOf({ ...intent, asked, ...(delivered && { delivered }) }),
    );
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #begin(intent: Intent, asked: Asked): Live {
    const live: Live = { intent, asked, output: undefined, delivered: undefined, charging: false };
    this.#live.set(intent.generationId, live);
    this.#add(askedEntry(intent, asked));
    this.#lookSoon();
    return live;
  }

  #lookSoon(): void {
    this.#timer ??= setTimeout(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** Logs the output of streams that has changed since the last call. */
  #look(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.nowMs();
    for (const live of this.#live.values())
      if (live.output && !live.delivered?.ended && !live.charging) this.#note(live, nowMs);
    if (this.#live.size > 0) this.#lookSoon();
  }

  #note(live: Live, nowMs: number, ended?: MeteredUsage): void {
    const output = live.output?.();
    if (output === undefined) return;
    const { delivered: before } = live;
    const { tokens, usage, serviceTier } = output;
    const upstreamId = before?.upstreamId ?? output.upstreamId;
    const isSame = usage === undefined || usage === before?.reported?.usage;
    const reported = isSame ? before?.reported : { usage, ...present({ serviceTier }) };
    if (before && !ended && tokens === before.tokens && upstreamId === before.upstreamId && isSame) return;
    const lastAtMs = before && tokens === before.tokens ? before.lastAtMs : nowMs;
    const said = present({ upstreamId, reported, ended });
    live.delivered = { tokens, firstAtMs: before?.firstAtMs ?? nowMs, lastAtMs, ...said };
    this.#add(deliveredEntry(live.intent.generationId, live.delivered));
  }
}
