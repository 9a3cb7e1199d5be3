import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#core/clock.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import { encodeForOperator, parseSettlementJson } from '#database/ledger/settlement-json.ts';
import { isSettlement } from '#database/ledger/settlement-shape.ts';
import { keepAside, type OnDamage } from '../spool/spool-lines.ts';
import { AppendFile } from './append-file.ts';
import { checkedLine, readCheckedLines } from './checked-lines.ts';

export interface RecentChargesOptions {
  readonly folder: string;
  readonly workerIndex: number;
  readonly clock: Clock;
  /**
   * The disk has ceased to take it. Charges go on without; it is tried again with the next ones.
   */
  readonly onFailure: (error: unknown) => void;
  readonly onDamage: OnDamage;
}

const KEEP_MS = 15 * 60_000;
/** About 90,000 charges: 15 minutes of 100 a second. */
const KEEP_BYTES = 64 * 1024 * 1024;
/**
 * A charge may be kept this much longer than needed, because others in the same file are still
 * needed.
 */
const FILE_MS = 60_000;
const FILE_BYTES = 4 * 1024 * 1024;
const WRITE_EVERY_MS = 100;
const SENT_AT_ONCE = 200;
/**
 * Separates the charges of one write, which are one line with one checksum. JSON does not contain
 * it.
 */
const SEPARATOR = '\t';

/** `charges-WORKER.EPOCH.BEGUN.jsonl` */
const NAME = /^charges-(\d+)\.([^.]+)\.(\d+)\.jsonl$/;

interface KeptFile {
  readonly name: string;
  readonly epoch: string;
  readonly begunMs: number;
}

type SendGroup = (settlements: readonly Settlement[]) => Promise<void>;

interface OpenFile {
  readonly epoch: string;
  readonly begunMs: number;
  readonly file: AppendFile;
}

/**
 * Charges of the last minutes, on disk without a sync. A database that went back in time (a standby
 * without the last commits, a restore) lacks some of them. They are charged again, by generation
 * id, so that nothing is charged twice (docs/design.md, "Recent charges").
 */
export class RecentCharges {
  readonly #options: RecentChargesOptions;
  /** Unwritten charges by epoch; nearly always there is one epoch. */
  #waiting = new Map<string, string[]>();
  #open: OpenFile | undefined;
  #lastBegunMs: number;
  #behind = false;
  /** The next write, or, while nothing waits, the end of the open file. */
  #timer: NodeJS.Timeout | undefined;

  constructor(options: RecentChargesOptions) {
    this.#options = options;
    this.#lastBegunMs = Math.max(0, ...this.#kept().map(({ begunMs }) => begunMs));
  }

  /** Notes a charge that was committed in this ledger epoch. */
  note(settlement: Settlement, epoch: string): void {
    const text = encodeForOperator(settlement);
    if (this.#waiting.size === 0) this.#writeIn(WRITE_EVERY_MS);
    const others = this.#waiting.get(epoch);
    if (others) others.push(text);
    else this.#waiting.set(epoch, [text]);
  }

  /**
   * Sends charges of other epochs in groups, and counts them as charged in this one. Rejects as
   * `send` does; the group is sent again next time. Lines that cannot be read are kept aside.
   * Returns how many there were.
   */
  async sendAgain(epoch: string, send: SendGroup): Promise<number> {
    const { folder, onDamage } = this.#options;
    let sent = 0;
    for (;;) {
      this.#write();
      if (this.#open && this.#open.epoch !== epoch) this.#closeFile();
      const former = this.#kept().find((file) => file.epoch !== epoch);
      if (former === undefined) return sent;
      const path = join(folder, former.name);
      const damaged: Buffer[] = [];
      sent += await sendFile(path, send, damaged);
      if (damaged.length > 0) onDamage(await keepAside(path, damaged), damaged.length);
      renameSync(path, this.#pathOf(epoch, former.begunMs));
    }
  }

  /** Takes over what a process that is gone has charged. */
  adopt(workerIndex: number): void {
    const { folder } = this.#options;
    for (const { name, epoch, begunMs } of keptFiles(folder, workerIndex)) {
      const taken = this.#kept().map((file) => file.begunMs);
      let free = begunMs;
      while (taken.includes(free)) free += 1;
      renameSync(join(folder, name), this.#pathOf(epoch, free));
    }
  }

  isBehind(): boolean {
    return this.#behind;
  }

  close(): void {
    this.#write();
    clearTimeout(this.#timer);
    this.#closeFile();
  }

  #writeIn(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#write(), ms).unref();
  }

  #write(): void {
    const { clock, onFailure } = this.#options;
    try {
      for (const [epoch, charges] of this.#waiting) this.#fileFor(epoch).append(checkedLine(charges.join(SEPARATOR)));
      if (this.#open && clock.nowMs() - this.#open.begunMs > FILE_MS) {
        this.#closeFile();
        this.#forgetOld();
      }
      this.#behind = false;
    } catch (error) {
      this.#closeFile();
      if (!this.#behind) onFailure(error);
      this.#behind = true;
    }
    if (this.#waiting.size > 0) this.#waiting = new Map();
    clearTimeout(this.#timer);
    // A failure ends with a later round, also when no charge comes.
    if (this.#open || this.#behind) this.#writeIn(this.#behind ? WRITE_EVERY_MS : FILE_MS + 1);
  }

  #fileFor(epoch: string): AppendFile {
    if (this.#open?.epoch === epoch && this.#open.file.bytes < FILE_BYTES) return this.#open.file;
    this.#closeFile();
    this.#forgetOld();
    // The name of the file has the millisecond, so two files need different ones.
    const begunMs = Math.max(this.#options.clock.nowMs(), this.#lastBegunMs + 1);
    this.#lastBegunMs = begunMs;
    this.#open = { epoch, begunMs, file: new AppendFile(this.#pathOf(epoch, begunMs)) };
    return this.#open.file;
  }

  #closeFile(): void {
    this.#open?.file.close();
    this.#open = undefined;
  }

  #forgetOld(): void {
    const { folder, clock } = this.#options;
    let bytes = 0;
    for (const { name } of this.#kept().reverse()) {
      const path = join(folder, name);
      const { size, mtimeMs } = statSync(path);
      bytes += size;
      if (bytes > KEEP_BYTES - FILE_BYTES || mtimeMs < clock.nowMs() - KEEP_MS) rmSync(path, { force: true });
    }
  }

  #kept(): KeptFile[] {
    return keptFiles(this.#options.folder, this.#options.workerIndex);
  }

  #pathOf(epoch: string, begunMs: number): string {
    const { folder, workerIndex } = this.#options;
    return join(folder, `charges-${workerIndex}.${epoch}.${begunMs}.jsonl`);
  }
}

/** Sends the charges of a file in groups. Returns how many. Adds its damaged lines to `damaged`. */
async function sendFile(path: string, send: SendGroup, damaged: Buffer[]): Promise<number> {
  let sent = 0;
  let group: Settlement[] = [];
  const sendGroup = async (): Promise<void> => {
    await send(group);
    sent += group.length;
    group = [];
  };
  for await (const settlement of settlementsIn(path, (line) => damaged.push(line))) {
    group.push(settlement);
    if (group.length === SENT_AT_ONCE) await sendGroup();
  }
  if (group.length > 0) await sendGroup();
  return sent;
}

/** Reads the charges of a worker that were committed in another epoch. Changes nothing. */
export async function* chargesOfOtherEpochs(
  folder: string,
  workerIndex: number,
  epoch: string,
  onDamage: (line: Buffer) => void,
): AsyncGenerator<Settlement> {
  for (const file of keptFiles(folder, workerIndex))
    if (file.epoch !== epoch) yield* settlementsIn(join(folder, file.name), onDamage);
}

function keptFiles(folder: string, workerIndex: number): KeptFile[] {
  return readdirSync(folder)
    .flatMap((name): KeptFile[] => {
      const [, worker, epoch, begun] = NAME.exec(name) ?? [];
      if (epoch === undefined || Number(worker) !== workerIndex) return [];
      return [{ name, epoch, begunMs: Number(begun) }];
    })
    .sort((a, b) => a.begunMs - b.begunMs);
}

async function* settlementsIn(path: string, onDamage: (line: Buffer) => void): AsyncGenerator<Settlement> {
  for await (const line of readCheckedLines(path, onDamage)) {
    for (const text of line.split(SEPARATOR)) {
      const settlement = parseSettlementJson(text);
      if (isSettlement(settlement)) yield settlement;
    }
  }
}
