import type { Clock } from '#core/clock.ts';
import type { Asked, AskedTarget, EndedOutput, Intent, Output, ReportedUsage } from '../journal/intent.ts';
import {
  askedAgainEntry,
  askedEntry,
  endEntry,
  entriesOf,
  outputEndEntry,
  progressEntry,
  reportedEntry,
  upstreamEntry,
} from './intent-entries.ts';

/** An admitted request in the log. */
export interface LoggedRequest {
  /** Notes that a provider is about to be called. */
  asked(target: AskedTarget): void;
  /**
   * Notes that the stream begins to go to the client. `output` is read now and then until the end.
   */
  delivers(output: () => Output): void;
  /** Notes that the stream has ended and is about to be charged. */
  outputEnded(ended: EndedOutput): void;
  /** Notes that the request ended without a charge. Changes nothing after its charge. */
  settled(): void;
}

interface Live {
  readonly intent: Intent;
  asked: Asked;
  output: (() => Output) | undefined;
  tokens: number;
  upstreamId: string | undefined;
  reported: ReportedUsage | undefined;
  firstAtMs: number | undefined;
  lastAtMs: number;
  ended: EndedOutput | undefined;
  /** True while its charge is being written: the charge takes its place in the log. */
  charging: boolean;
}

/** The log may lag behind the delivered output by this much. */
const LOOK_EVERY_MS = 100;

/** Requests that this process has sent to providers and not settled. `add` writes an entry. */
export class LiveIntents {
  readonly #clock: Clock;
  readonly #add: (entry: string) => void;
  readonly #live = new Map<string, Live>();
  /** Absent while there is nothing to look at: an idle process is not woken. */
  #timer: NodeJS.Timeout | undefined;

  constructor(clock: Clock, add: (entry: string) => void) {
    this.#clock = clock;
    this.#add = add;
  }

  open(intent: Intent): LoggedRequest {
    let live: Live | undefined;
    return {
      asked: (target) => {
        const askedAtMs = this.#clock.nowMs();
        if (live === undefined) live = this.#begin(intent, { ...target, attempt: 1, askedAtMs });
        else {
          live.asked = { ...target, attempt: live.asked.attempt + 1, askedAtMs };
          this.#add(askedAgainEntry(intent.generationId, live.asked));
        }
      },
      delivers: (output) => {
        if (live) live.output = output;
      },
      outputEnded: (ended) => {
        if (live?.output === undefined) return;
        this.#note(live, this.#clock.nowMs());
        live.ended = ended;
        this.#add(outputEndEntry(intent.generationId, ended));
      },
      settled: () => {
        if (live && this.#live.delete(intent.generationId)) this.#add(endEntry(intent.generationId));
      },
    };
  }

  /** Notes if the charge of a request is being written. */
  charging(generationId: string, charging: boolean): void {
    const live = this.#live.get(generationId);
    if (live) live.charging = charging;
  }

  /** Forgets a request whose charge is durable. */
  charged(generationId: string): void {
    this.#live.delete(generationId);
  }

  /** Everything about the live requests, as it stands. */
  entries(): string[] {
    return [...this.#live.values()].filter(({ charging }) => !charging).flatMap(entriesOfLive);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #begin(intent: Intent, asked: Asked): Live {
    const unsaid = { upstreamId: undefined, reported: undefined, ended: undefined };
    const nothing = { output: undefined, tokens: -1, ...unsaid, firstAtMs: undefined, lastAtMs: 0 };
    const live: Live = { intent, asked, ...nothing, charging: false };
    this.#live.set(intent.generationId, live);
    this.#add(askedEntry(intent, asked));
    this.#lookSoon();
    return live;
  }

  #lookSoon(): void {
    this.#timer ??= setTimeout(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** Notes the output since the last look. */
  #look(): void {
    this.#timer = undefined;
    const nowMs = this.#clock.nowMs();
    for (const live of this.#live.values())
      if (live.output !== undefined && live.ended === undefined && !live.charging) this.#note(live, nowMs);
    if (this.#live.size > 0) this.#lookSoon();
  }

  #note(live: Live, nowMs: number): void {
    const output = live.output?.();
    if (output === undefined) return;
    const { generationId } = live.intent;
    if (output.tokens !== live.tokens) {
      live.tokens = output.tokens;
      live.firstAtMs ??= nowMs;
      live.lastAtMs = nowMs;
      this.#add(progressEntry(generationId, output.tokens, nowMs));
    }
    if (output.usage !== undefined && output.usage !== live.reported?.usage) {
      live.reported = { usage: output.usage, serviceTier: output.serviceTier };
      this.#add(reportedEntry(generationId, live.reported));
    }
    if (output.upstreamId === undefined || live.upstreamId !== undefined) return;
    live.upstreamId = output.upstreamId;
    this.#add(upstreamEntry(generationId, output.upstreamId));
  }
}

function entriesOfLive({ intent, asked, firstAtMs, ...live }: Live): string[] {
  const { tokens, lastAtMs, upstreamId, reported, ended } = live;
  if (firstAtMs === undefined) return entriesOf(intent, asked, undefined);
  const said = { ...(upstreamId === undefined ? {} : { upstreamId }), ...(reported && { reported }) };
  return entriesOf(intent, asked, { tokens, firstAtMs, lastAtMs, ...said, ...(ended && { ended }) });
}
