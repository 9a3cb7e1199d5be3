import { type FileHandle, mkdir, open, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Settlement } from '../stores/ledger.ts';

/**
 * Settlements that PostgreSQL could not take yet, in an fsynced file: an answer may end once its charge is durable here (DESIGN
 * invariant 4). One JSON line each; the file is emptied when all of them are in the ledger. Settling is idempotent by generation id, so a
 * line that was settled and not yet removed does no harm.
 */
export interface Spool {
  /** Resolves after the fsync. Rejects when the disk does not take it. */
  append(settlement: Settlement): Promise<void>;
  pending(): readonly Settlement[];
  /** Forgets one that is in the ledger now. */
  remove(generationId: string): Promise<void>;
  close(): Promise<void>;
}

export async function openSpool(path: string): Promise<Spool> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const pending = new Map<string, Settlement>();
  for (const settlement of await readSpool(path)) pending.set(settlement.generationId, settlement);
  const file = await open(path, 'a', 0o600);
  let writes: Promise<unknown> = Promise.resolve();
  // One write at a time, so that lines never interleave and emptying never loses a line.
  const queue = <T>(write: () => Promise<T>): Promise<T> => {
    const done = writes.then(write);
    writes = done.catch(() => undefined);
    return done;
  };
  return {
    append: (settlement) =>
      queue(async () => {
        await appendLine(file, encodeSettlement(settlement));
        pending.set(settlement.generationId, settlement);
      }),
    pending: () => [...pending.values()],
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

async function appendLine(file: FileHandle, line: string): Promise<void> {
  // A line that a full disk cut short must not swallow the next one: each begins on a line of its own.
  await file.appendFile(`\n${line}\n`);
  await file.datasync();
}

async function readSpool(path: string): Promise<Settlement[]> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return '';
    throw error;
  });
  return text
    .split('\n')
    .map(decodeSettlement)
    .filter((settlement) => settlement !== undefined);
}

/** bigint is not JSON: amounts travel as decimal text under the names of their fields. */
const AMOUNTS = new Set(['costNanoUsd', 'inputPicoUsd', 'cachedInputPicoUsd', 'outputPicoUsd']);

export function encodeSettlement(settlement: Settlement): string {
  return JSON.stringify(settlement, (_name, value: unknown) => (typeof value === 'bigint' ? value.toString() : value));
}

/** `undefined` for a line that was cut short: its append never resolved, so nobody was told it is durable. */
export function decodeSettlement(line: string): Settlement | undefined {
  if (line === '') return undefined;
  try {
    return JSON.parse(line, (name, value: unknown) =>
      AMOUNTS.has(name) ? BigInt(String(value)) : value,
    ) as Settlement;
  } catch {
    return undefined;
  }
}
