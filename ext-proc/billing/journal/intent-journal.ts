import { renameSync, rmSync } from 'node:fs';
import type { Clock } from '#core/clock.ts';
import { AppendFile } from './append-file.ts';
import { checkedLine } from './checked-lines.ts';
import type { Asked, AskedTarget, EndedOutput, Intent, Output, ReportedUsage } from './intent.ts';
import {
  askedAgainEntry,
  askedEntry,
  endEntry,
  joinEntries,
  outputEndEntry,
  progressEntry,
  reportedEntry,
  upstreamEntry,
} from './intent-lines.ts';

/**
 * Journal of the requests that this process has sent to providers and not settled, on disk without
 * a sync: it survives a kill of the process, and its successor charges what clients had been sent.
 * At most one write in each turn of the event loop, for any number of requests.
 */
export interface IntentJournal {
  open(intent: Intent): JournalledRequest;
  /** True if the disk does not take the journal; requests go on without it. */
  isBehind(): boolean;
  close(): void;
}

export interface JournalledRequest {
  /** Notes that a provider is about to be called. */
  asked(target: AskedTarget): void;
  /**
   * Notes that the stream begins to go to the client. `output` is read now and then until the end.
   */
  delivers(output: () => Output): void;
  /** Notes that the stream has ended and is about to be charged. */
  outputEnded(ended: EndedOutput): void;
  /** Notes that the request is charged or released, or that its charge is durable in the spool. */
  settled(): void;
}

export interface IntentJournalOptions {
  readonly path: string;
  readonly clock: Clock;
  /**
   * Called when the disk no longer takes the journal. Requests go on without it, and writes are
   * retried.
   */
  readonly onFailure: (error: unknown) => void;
}

interface Live {
  readonly slot: number;
  readonly intent: Intent;
  asked: Asked;
  output: (() => Output) | undefined;
  tokens: number;
  upstreamId: string | undefined;
  reported: ReportedUsage | undefined;
  firstAtMs: number | undefined;
  lastAtMs: number;
  ended: EndedOutput | undefined;
}

/** The journal may lag behind the delivered output by this much. */
const LOOK_EVERY_MS = 100;
/**
 * A file of this size is rewritten with the live requests only; so is one of four times its size
 * after the last rewrite.
 */
const REWRITE_BYTES = 4 * 1024 * 1024;
const REWRITE_GROWTH = 4;
const REWRITE_RETRY_MS = 1_000;

/** Begins a new file at `path`. The journal of a former process must be settled before. */
export function openIntentJournal(options: IntentJournalOptions): IntentJournal {
  return new FileJournal(options);
}

class FileJournal implements IntentJournal {
  readonly #options: IntentJournalOptions;
  readonly #live = new Map<number, Live>();
  /** Absent: the disk has not taken a file yet. */
  #file: AppendFile | undefined;
  #entries: string[] = [];
  #rewriteAtBytes = REWRITE_BYTES;
  #flushing = false;
  /** True if entries are missing in the file. */
  #behind = false;
  #rewriteAtMs = 0;
  #slots = 0;
  /** Absent while there is nothing to look at: an idle process is not woken. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: IntentJournalOptions) {
    this.#options = options;
    this.#rewrite(options.clock.nowMs());
  }

  open(intent: Intent): JournalledRequest {
    let live: Live | undefined;
    return {
      asked: (target) => {
        if (live === undefined) live = this.#begin(intent, target);
        else {
          live.asked = { ...target, attempt: live.asked.attempt + 1, askedAtMs: this.#options.clock.nowMs() };
          this.#add(askedAgainEntry(live.slot, live.asked));
        }
        this.#flushSoon();
      },
      delivers: (output) => {
        if (live) live.output = output;
      },
      outputEnded: (ended) => {
        if (live?.output === undefined) return;
        this.#note(live, this.#options.clock.nowMs());
        live.ended = ended;
        this.#add(outputEndEntry(live.slot, ended));
        this.#flushSoon();
      },
      settled: () => {
        if (live === undefined || !this.#live.delete(live.slot)) return;
        // Written with the next batch, because charging again changes nothing.
        this.#add(endEntry(live.slot));
      },
    };
  }

  isBehind(): boolean {
    return this.#behind;
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#flush();
    this.#file?.close();
  }

  #begin(intent: Intent, target: AskedTarget): Live {
    const slot = this.#slots++;
    const unsaid = { upstreamId: undefined, reported: undefined };
    const nothing = { output: undefined, tokens: -1, ...unsaid, firstAtMs: undefined, lastAtMs: 0 };
    const asked = { ...target, attempt: 1, askedAtMs: this.#options.clock.nowMs() };
    const live: Live = { slot, intent, asked, ...nothing, ended: undefined };
    this.#live.set(slot, live);
    this.#add(askedEntry(slot, intent, asked));
    return live;
  }

  #add(entry: string): void {
    this.#entries.push(entry);
    this.#lookSoon();
  }

  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #lookSoon(): void {
    this.#timer ??= setTimeout(() => this.#look(), LOOK_EVERY_MS).unref();
  }

  /** Notes the output since the last look. */
  #look(): void {
    this.#timer = undefined;
    const nowMs = this.#options.clock.nowMs();
    for (const live of this.#live.values())
      if (live.output !== undefined && live.ended === undefined) this.#note(live, nowMs);
    if (!this.#behind) this.#flush();
    else if (nowMs >= this.#rewriteAtMs) this.#rewrite(nowMs);
    if (this.#live.size > 0 || this.#behind) this.#lookSoon();
  }

  #note(live: Live, nowMs: number): void {
    const output = live.output?.();
    if (output === undefined) return;
    if (output.tokens !== live.tokens) {
      live.tokens = output.tokens;
      live.firstAtMs ??= nowMs;
      live.lastAtMs = nowMs;
      this.#add(progressEntry(live.slot, output.tokens, nowMs));
    }
    if (output.usage !== undefined && output.usage !== live.reported?.usage) {
      live.reported = { usage: output.usage, serviceTier: output.serviceTier };
      this.#add(reportedEntry(live.slot, live.reported));
    }
    if (output.upstreamId === undefined || live.upstreamId !== undefined) return;
    live.upstreamId = output.upstreamId;
    this.#add(upstreamEntry(live.slot, output.upstreamId));
  }

  #flush(): void {
    const file = this.#file;
    if (this.#entries.length === 0 || this.#behind || file === undefined) return;
    try {
      file.append(checkedLine(joinEntries(this.#entries)));
      this.#entries = [];
    } catch (error) {
      this.#failed(error);
      return;
    }
    if (file.bytes > this.#rewriteAtBytes) this.#rewrite(this.#options.clock.nowMs());
  }

  #rewrite(nowMs: number): void {
    this.#rewriteAtMs = nowMs + REWRITE_RETRY_MS;
    try {
      const file = this.#written();
      this.#file?.close();
      this.#file = file;
      this.#behind = false;
    } catch (error) {
      this.#failed(error);
    }
  }

  /**
   * Drops the file until a new one can be written: further entries would refer to missing requests.
   */
  #failed(error: unknown): void {
    if (!this.#behind) this.#options.onFailure(error);
    this.#behind = true;
    this.#entries = [];
    this.#lookSoon();
  }

  /** Replaces the file atomically by one with the live requests. */
  #written(): AppendFile {
    const { path } = this.#options;
    const next = `${path}.next`;
    rmSync(next, { force: true });
    const file = new AppendFile(next);
    try {
      for (const live of this.#live.values()) file.append(checkedLine(joinEntries(entriesOf(live))));
      renameSync(next, path);
    } catch (error) {
      file.close();
      rmSync(next, { force: true });
      throw error;
    }
    this.#entries = [];
    this.#rewriteAtBytes = Math.max(REWRITE_BYTES, file.bytes * REWRITE_GROWTH);
    return file;
  }
}

function entriesOf({ slot, intent, asked, tokens, upstreamId, reported, firstAtMs, lastAtMs, ended }: Live): string[] {
  const entries = [askedEntry(slot, intent, asked)];
  if (firstAtMs === undefined) return entries;
  entries.push(progressEntry(slot, 0, firstAtMs), progressEntry(slot, tokens, lastAtMs));
  if (upstreamId !== undefined) entries.push(upstreamEntry(slot, upstreamId));
  if (reported !== undefined) entries.push(reportedEntry(slot, reported));
  if (ended !== undefined) entries.push(outputEndEntry(slot, ended));
  return entries;
}
