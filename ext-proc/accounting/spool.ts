import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ClaimedSettlement, Settlement } from '../stores/ledger.ts';
import { decodeSettlement, encodeSettlement } from '../stores/settlement-json.ts';

/**
 * Settlements that PostgreSQL could not take yet, in an fsynced file: an answer may end once its charge is durable here (DESIGN
 * invariant 4). One JSON line each, which is read again when its turn comes, because it may carry a whole answer; the file is emptied when all
 * of them are in the ledger. Settling is idempotent by generation id, so a line that was settled and not yet removed does no harm.
 */
export interface Spool {
  /** Resolves after the fsync. Rejects when the disk does not take it; then nothing of it is replayed. */
  append(settlement: Settlement | ClaimedSettlement): Promise<void>;
  /** In the order in which they came. */
  pending(): readonly SpooledCharge[];
  /** `undefined`: it was removed in the meantime. Rejects when the disk does not give it back as it was. */
  read(generationId: string): Promise<Settlement | ClaimedSettlement | undefined>;
  /** Resolves when the disk takes and keeps something; nothing of it stays. */
  prove(): Promise<void>;
  /** Forgets one that is in the ledger now. */
  remove(generationId: string): Promise<void>;
  close(): Promise<void>;
}

export interface SpooledCharge {
  readonly generationId: string;
  readonly bytes: number;
}

interface Line extends SpooledCharge {
  readonly position: number;
}

/** `onDamage`: lines were found that cannot be read. One at the end was cut short by a crash, before anybody was told that it is durable. */
export async function openSpool(path: string, onDamage?: (lines: number) => void): Promise<Spool> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const file = await open(path, 'a+', 0o600);
  // The names of file and folder have to survive a crash as well as the content.
  for (const folder of [dirname(path), dirname(dirname(path))]) await syncFolder(folder);
  const pending = new Map<string, Line>();
  let damaged = 0;
  for await (const line of linesOf(path)) {
    const settlement = decodeSettlement(line.text);
    if (settlement === undefined) damaged += 1;
    else pending.set(settlement.generationId, { ...line, generationId: settlement.generationId });
  }
  if (damaged > 0) onDamage?.(damaged);
  let writes: Promise<unknown> = Promise.resolve();
  // One at a time, so that lines never interleave and emptying never loses a line.
  const queue = <T>(work: () => Promise<T>): Promise<T> => {
    const done = writes.then(work);
    writes = done.catch(() => undefined);
    return done;
  };
  return {
    append: (settlement) =>
      queue(async () => {
        const { generationId } = settlement;
        pending.set(generationId, { generationId, ...(await appendLine(file, encodeSettlement(settlement))) });
      }),
    pending: () => [...pending.values()],
    read: (generationId) =>
      queue(async () => {
        const line = pending.get(generationId);
        if (line === undefined) return undefined;
        const settlement = decodeSettlement(await readLine(file, line));
        if (settlement === undefined) throw new Error(`the spooled charge of ${generationId} can no longer be read`);
        return settlement;
      }),
    prove: () =>
      queue(async () => {
        const { position } = await appendLine(file, '');
        await file.truncate(position - 1);
      }),
    remove: (generationId) =>
      queue(async () => {
        pending.delete(generationId);
        if (pending.size > 0) return;
        await file.truncate(0);
        await file.datasync();
      }),
    close: async () => {
      await writes;
      await file.close();
    },
  };
}

async function appendLine(file: FileHandle, line: string): Promise<Omit<Line, 'generationId'>> {
  const { size } = await file.stat();
  // A line that a crash cut short must not swallow the next one: each begins on a line of its own.
  const bytes = Buffer.from(`\n${line}\n`);
  try {
    await file.appendFile(bytes);
    await file.datasync();
  } catch (error) {
    // A full disk took a part of it, or cannot say: the caller is told that nothing is charged, so nothing may be left to replay.
    await file.truncate(size);
    throw error;
  }
  return { position: size + 1, bytes: bytes.length - 2 };
}

async function readLine(file: FileHandle, { position, bytes }: Line): Promise<string> {
  const buffer = Buffer.alloc(bytes);
  let done = 0;
  while (done < bytes) {
    const { bytesRead } = await file.read(buffer, done, bytes - done, position + done);
    if (bytesRead === 0) throw new Error('the spool is shorter than what was appended to it');
    done += bytesRead;
  }
  return buffer.toString('utf8');
}

/** One line at a time is in memory, however long the file is. */
async function* linesOf(path: string): AsyncGenerator<{ text: string; position: number; bytes: number }> {
  let position = 0;
  let pieces: Buffer[] = [];
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      const line = Buffer.concat([...pieces, chunk.subarray(from, at)]);
      pieces = [];
      if (line.length > 0) yield { text: line.toString('utf8'), position, bytes: line.length };
      position += line.length + 1;
      from = at + 1;
    }
    if (from < chunk.length) pieces.push(chunk.subarray(from));
  }
  const rest = Buffer.concat(pieces);
  if (rest.length > 0) yield { text: rest.toString('utf8'), position, bytes: rest.length };
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}
