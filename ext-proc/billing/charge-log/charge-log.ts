import { mkdir, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Clock } from '#core/clock.ts';
import type { AnySettlement, Settlement } from '#database/ledger/ledger.ts';
import { checkedText } from './checked-lines.ts';
import { keepAside, type OnDamage, syncFolder } from './damaged-lines.ts';
import { type FormerLog, readFormerLog } from './former-log.ts';
import type { Intent, UnsettledIntent } from './intent.ts';
import { endEntry, entriesOf } from './intent-entries.ts';
import { type KeptSegment, KeptSegments } from './kept-segments.ts';
import { LiveIntents, type LoggedRequest } from './live-intents.ts';
import type { Commit, PlacedCharge } from './log-content.ts';
import { chargeEntry, chargeIn, committedEntry, hasStoredResponse } from './log-entries.ts';
import { committedInOtherEpochs } from './log-reading.ts';
import { LogWriter } from './log-writer.ts';
import { DISK, type Disk } from './segment.ts';
import { readAt, segmentFile } from './segment-files.ts';
import { eachOrphan } from './worker-lock.ts';

type Waiting = PlacedCharge<KeptSegment>;

export type WaitingCharge = Omit<Waiting, 'segment' | 'position'>;

export interface ChargeLogOptions {
  readonly folder: string;
  readonly workerIndex: number;
  readonly clock: Clock;
  /** Called when writes to the disk begin to fail. They are retried. */
  readonly onFailure: (error: unknown) => void;
  readonly onDamage: OnDamage;
  /** Called when the log of a process that has ended has become a part of this one. */
  readonly onAdopted: (workerIndex: number, charges: number) => void;
  /** Called when such a log could not be adopted. It stays as it is. */
  readonly onNotAdopted: (workerIndex: number, error: unknown) => void;
  /** Replaces the disk in tests. */
  readonly disk?: Disk;
}

const SENT_AT_ONCE = 200;

/**
 * The log of a process on its disk: requests that it has sent to providers, their charges, and
 * which of them PostgreSQL has (docs/design.md, "Invariants", 4). Entries of requests survive a
 * crash of the process. Charges also survive a crash of the machine.
 */
export class ChargeLog {
  readonly #options: ChargeLogOptions;
  readonly #segments: KeptSegments;
  readonly #writer: LogWriter;
  readonly #live: LiveIntents;
  /** The newest commits of the segments that were found at the start, and their ledger epochs. */
  readonly lastCommits: Commit[] = [];
  readonly #waiting = new Map<string, Waiting>();
  /** Requests that former processes neither charged nor released. */
  readonly unsettled: UnsettledIntent[] = [];
  /** Epochs in which kept charges were committed. */
  #epochs = new Set<string>();
  #lastNumber = 0;

  /**
   * Opens the log of this worker, and adopts those of workers whose processes have ended. The
   * caller must have the lock of this worker (worker-lock.ts).
   */
  static async open(options: ChargeLogOptions): Promise<ChargeLog> {
    const { folder, workerIndex, clock, onDamage, onNotAdopted } = options;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const log = new ChargeLog(options);
    const own = await readFormerLog(folder, workerIndex, clock, onDamage);
    log.#take(own);
    log.unsettled.push(...own.unsettled);
    await syncFolder(dirname(folder));
    await eachOrphan(folder, workerIndex, (index) =>
      log.#adopt(index).catch((error: unknown) => onNotAdopted(index, error)),
    );
    return log;
  }

  private constructor(options: ChargeLogOptions) {
    const { folder, workerIndex, clock, onFailure, disk = DISK } = options;
    this.#options = options;
    this.#segments = new KeptSegments(clock);
    this.#writer = new LogWriter({
      ...{ disk, clock, onFailure },
      nextFile: () => segmentFile(folder, workerIndex, ++this.#lastNumber),
      liveEntries: () => [...this.unsettled.flatMap(entriesOf), ...this.#live.entries()],
      onBegun: (segment) => {
        this.#segments.add(segment);
        void this.#segments.tidy();
      },
    });
    this.#live = new LiveIntents(clock, (entry) => this.#writer.add(entry));
  }

  /** Empties `unsettled`, because these requests are settled. */
  unsettledEnded(): void {
    for (const { generationId } of this.unsettled.splice(0)) this.#writer.add(endEntry(generationId));
  }

  /** Logs a request from its first call of a provider to its charge or release. */
  open(intent: Intent): LoggedRequest {
    return this.#live.open(intent);
  }

  /**
   * Appends a charge, which ends its request in the log. It replaces a waiting charge of the same
   * generation. Resolves after the fdatasync. Rejects if the disk fails, and cuts the line off. The
   * next process finds the line only if this process is killed before a cut succeeds.
   */
  async append(settlement: AnySettlement): Promise<void> {
    const { generationId, organizationId } = settlement;
    this.#live.charging(generationId, true);
    try {
      const place = await this.#writer.addDurably(chargeEntry(settlement));
      this.#live.charged(generationId);
      if (hasStoredResponse(settlement)) place.segment.responseBytes += place.bytes;
      this.#wait({ generationId, organizationId, ...place });
    } catch (error) {
      this.#live.charging(generationId, false);
      throw error;
    }
  }

  /** Charges that are durable here, but not known to be in PostgreSQL, in order of arrival. */
  waiting(): readonly WaitingCharge[] {
    return [...this.#waiting.values()];
  }

  /**
   * Reads a charge that waits. `undefined`: no such charge waits, or its line is damaged and was
   * moved aside. Rejects if the disk fails.
   */
  async read(generationId: string): Promise<AnySettlement | undefined> {
    const charge = this.#waiting.get(generationId);
    if (charge === undefined) return undefined;
    const { path } = charge.segment;
    const line = await readAt(path, charge);
    const text = checkedText(line);
    const settlement = text && chargeIn(text);
    if (settlement?.generationId === generationId) return settlement;
    this.#options.onDamage(await keepAside(path, [line]), 1);
    this.committed([generationId], undefined);
    return undefined;
  }

  /** Notes that the ledger of this epoch has these charges. `undefined`: they are never made. */
  committed(generationIds: readonly string[], epoch: string | undefined): void {
    const ended = generationIds.filter((generationId) => this.#endWait(generationId));
    if (ended.length > 0) this.#note(ended, epoch);
  }

  /**
   * Sends the charges of the last minutes that were committed in another epoch, in groups of 200,
   * and then notes them as committed in this one. If `send` rejects, this rejects too, and the next
   * call repeats that group. Returns their number.
   */
  async sendAgain(epoch: string, send: (settlements: readonly Settlement[]) => Promise<void>): Promise<number> {
    const former = this.#epochs;
    if ([...former].every((one) => one === epoch)) return 0;
    // The segments are read below, and notes that were not written yet are in none of them.
    await this.#writer.writeNotes();
    this.#epochs = new Set([epoch]);
    let sent = 0;
    let group: Settlement[] = [];
    const sendGroup = async (): Promise<void> => {
      await send(group);
      this.#note(
        group.map(({ generationId }) => generationId),
        epoch,
      );
      sent += group.length;
      group = [];
    };
    try {
      for await (const settlement of committedInOtherEpochs(this.#segments.files(), epoch))
        if (group.push(settlement) === SENT_AT_ONCE) await sendGroup();
      if (group.length > 0) await sendGroup();
    } catch (error) {
      for (const one of former) this.#epochs.add(one);
      throw error;
    }
    return sent;
  }

  /** True while the disk fails. Requests go on without the log. */
  isFailing(): boolean {
    return this.#writer.isFailing;
  }

  async close(): Promise<void> {
    this.#live.close();
    await this.#writer.close();
    await this.#segments.tidy();
  }

  /** Adds the segments and charges of a former log, but not its requests. */
  #take({ content, segments, lastCommits }: FormerLog): void {
    this.#segments.add(...segments);
    this.#lastNumber = Math.max(this.#lastNumber, ...segments.map(({ number }) => number));
    for (const epoch of content.committed.values()) this.#epochs.add(epoch);
    this.lastCommits.push(...lastCommits);
    for (const charge of content.waiting.values()) this.#wait(charge);
    // If a crash interrupted an adoption, one log has the charges and the other has their commits.
    for (const generationId of content.committed.keys()) this.#endWait(generationId);
  }

  /**
   * Adopts the log of a process that has ended. Its requests are written to this log before its
   * segments are renamed, so that a crash in between loses none.
   */
  async #adopt(index: number): Promise<void> {
    const { folder, workerIndex, clock, onDamage, onAdopted } = this.#options;
    const former = await readFormerLog(folder, index, clock, onDamage);
    const { segments, content, unsettled } = former;
    if (segments.length === 0) return;
    let number = this.#lastNumber;
    this.#lastNumber += segments.length;
    this.unsettled.push(...unsettled);
    this.#writer.rotate();
    await this.#writer.prove();
    for (const segment of segments) {
      const own = segmentFile(folder, workerIndex, ++number);
      await rename(segment.path, own.path);
      Object.assign(segment, own);
    }
    await syncFolder(folder);
    this.#take(former);
    onAdopted(index, content.waiting.size);
  }

  #wait(charge: Waiting): void {
    this.#endWait(charge.generationId);
    this.#waiting.set(charge.generationId, charge);
    charge.segment.waiting += 1;
  }

  #endWait(generationId: string): boolean {
    const charge = this.#waiting.get(generationId);
    if (charge === undefined) return false;
    charge.segment.waiting -= 1;
    if (charge.segment.responseBytes > 0 && charge.segment.waiting === 0) void this.#segments.tidy();
    return this.#waiting.delete(generationId);
  }

  #note(generationIds: readonly string[], epoch: string | undefined): void {
    if (epoch !== undefined) this.#epochs.add(epoch);
    this.#writer.note(committedEntry(generationIds, epoch));
  }
}
