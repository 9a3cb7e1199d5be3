import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '#core/clock.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import { encodeForOperator, parseSettlementJson } from '#database/ledger/settlement-json.ts';
import { isSettlement, withAddedMembers } from '#database/ledger/settlement-shape.ts';
import { AppendFile } from './append-file.ts';
import { checkedLine, readCheckedLines } from './checked-lines.ts';

/**
 * Charges of the last minutes, on disk without a sync. A database that went back in time (a standby
 * without the last commits, a restore) lacks some of them. They are charged again, by generation
 * id, so that nothing is charged twice (docs/design.md, "Recent charges").
 */
export interface RecentCharges {
  /** Notes a charge that was committed in this ledger epoch. */
  note(settlement: Settlement, epoch: string): void;
  /**
   * Sends charges of other epochs in groups, and counts them as charged in this one. Rejects as
   * `send` does; the group is sent again next time. Returns how many there were.
   */
  sendAgain(epoch: string, send: (settlements: readonly Settlement[]) => Promise<void>): Promise<number>;
  /** Takes over what a process that is gone has charged. */
  adopt(workerIndex: number): void;
  isBehind(): boolean;
  close(): void;
}

export interface RecentChargesOptions {
  readonly folder: string;
  readonly workerIndex: number;
  readonly clock: Clock;
  /**
   * The disk has ceased to take it. Charges go on without; it is tried again with the next ones.
   */
  readonly onFailure: (error: unknown) => void;
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

interface OpenFile {
  readonly epoch: string;
  readonly begunMs: number;
  readonly file: AppendFile;
}

export function openRecentCharges(options: RecentChargesOptions): RecentCharges {
  const { folder, workerIndex, clock, onFailure } = options;
  /** Unwritten charges by epoch; nearly always there is one epoch. */
  let waiting = new Map<string, string[]>();
  let open: OpenFile | undefined;
  let behind = false;
  /** The next write, or, while nothing waits, the end of the open file. */
  let timer: NodeJS.Timeout | undefined;

  let lastBegunMs = Math.max(0, ...keptFiles(folder, workerIndex).map(({ begunMs }) => begunMs));

  function pathOf(index: number, epoch: string, begunMs: number): string {
    return join(folder, `charges-${index}.${epoch}.${begunMs}.jsonl`);
  }

  function write(): void {
    try {
      for (const [epoch, charges] of waiting) fileFor(epoch).append(checkedLine(charges.join(SEPARATOR)));
      if (open && clock.nowMs() - open.begunMs > FILE_MS) {
        closeFile();
        forgetOld();
      }
      behind = false;
    } catch (error) {
      closeFile();
      if (!behind) onFailure(error);
      behind = true;
    }
    if (waiting.size > 0) waiting = new Map();
    clearTimeout(timer);
    // A failure ends with a later round, also when no charge comes.
    timer = open || behind ? setTimeout(write, behind ? WRITE_EVERY_MS : FILE_MS + 1).unref() : undefined;
  }

  function writeSoon(): void {
    clearTimeout(timer);
    timer = setTimeout(write, WRITE_EVERY_MS).unref();
  }

  function fileFor(epoch: string): AppendFile {
    if (open?.epoch === epoch && open.file.bytes < FILE_BYTES) return open.file;
    closeFile();
    forgetOld();
    // The name of the file has the millisecond, so two files need different ones.
    lastBegunMs = Math.max(clock.nowMs(), lastBegunMs + 1);
    open = { epoch, begunMs: lastBegunMs, file: new AppendFile(pathOf(workerIndex, epoch, lastBegunMs)) };
    return open.file;
  }

  function closeFile(): void {
    open?.file.close();
    open = undefined;
  }

  function forgetOld(): void {
    let bytes = 0;
    for (const { name } of keptFiles(folder, workerIndex).reverse()) {
      const path = join(folder, name);
      const { size, mtimeMs } = statSync(path);
      bytes += size;
      if (bytes > KEEP_BYTES - FILE_BYTES || mtimeMs < clock.nowMs() - KEEP_MS) rmSync(path, { force: true });
    }
  }

  function note(settlement: Settlement, epoch: string): void {
    const text = encodeForOperator(settlement);
    if (waiting.size === 0) writeSoon();
    const others = waiting.get(epoch);
    if (others) others.push(text);
    else waiting.set(epoch, [text]);
  }

  async function sendFile(path: string, send: (settlements: readonly Settlement[]) => Promise<void>): Promise<number> {
    let sent = 0;
    let group: Settlement[] = [];
    const sendGroup = async (): Promise<void> => {
      await send(group);
      sent += group.length;
      group = [];
    };
    for await (const settlement of settlementsIn(path)) {
      group.push(settlement);
      if (group.length === SENT_AT_ONCE) await sendGroup();
    }
    if (group.length > 0) await sendGroup();
    return sent;
  }

  return {
    note,
    isBehind: () => behind,
    async sendAgain(epoch, send) {
      let sent = 0;
      for (;;) {
        write();
        if (open && open.epoch !== epoch) closeFile();
        const [former] = keptFiles(folder, workerIndex).filter((file) => file.epoch !== epoch);
        if (former === undefined) return sent;
        const path = join(folder, former.name);
        sent += await sendFile(path, send);
        renameSync(path, pathOf(workerIndex, epoch, former.begunMs));
      }
    },
    adopt(index) {
      for (const { name, epoch, begunMs } of keptFiles(folder, index)) {
        const taken = keptFiles(folder, workerIndex).map((file) => file.begunMs);
        let free = begunMs;
        while (taken.includes(free)) free += 1;
        renameSync(join(folder, name), pathOf(workerIndex, epoch, free));
      }
    },
    close() {
      write();
      clearTimeout(timer);
      closeFile();
    },
  };
}

/** Reads the charges of a worker that were committed in another epoch. Changes nothing. */
export async function* chargesOfOtherEpochs(
  folder: string,
  workerIndex: number,
  epoch: string,
): AsyncGenerator<Settlement> {
  for (const file of keptFiles(folder, workerIndex))
    if (file.epoch !== epoch) yield* settlementsIn(join(folder, file.name));
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

async function* settlementsIn(path: string): AsyncGenerator<Settlement> {
  for await (const line of readCheckedLines(path)) {
    for (const text of line.split(SEPARATOR)) {
      const settlement = withAddedMembers(parseSettlementJson(text));
      if (isSettlement(settlement)) yield settlement;
    }
  }
}
