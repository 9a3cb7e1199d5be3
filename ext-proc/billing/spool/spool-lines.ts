import { createReadStream, existsSync } from 'node:fs';
import { type FileHandle, open, readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { decodeLine } from './spool-line.ts';

/** A charge in a spool file. */
export interface SpooledCharge {
  readonly generationId: string;
  readonly bytes: number;
}

export interface PlacedCharge extends SpooledCharge {
  readonly position: number;
}

/** Charges of a spool file by generation id, in order of arrival. */
export type Charges = Map<string, PlacedCharge>;

const DAMAGED = '.damaged-';

/** Called after damaged lines were moved to the file `aside`. */
export type OnDamage = (aside: string, lines: number) => void;

/**
 * Reads a spool file. Damaged lines are moved to a file of their own, which stays until an operator
 * has looked at it. Among them may be a line that a crash of the machine cut short before its
 * charge was durable.
 */
export async function readCharges(path: string, onDamage: OnDamage | undefined): Promise<Charges> {
  if (!existsSync(path)) return new Map();
  const { charges, damaged } = await scan(path);
  if (damaged.length === 0) return charges;
  const aside = await keepAside(path, damaged);
  await rewrite(path, charges);
  onDamage?.(aside, damaged.length);
  return (await scan(path)).charges;
}

/** Moves damaged lines to a file of their own. Resolves after the fsync. */
export async function keepAside(path: string, lines: readonly Buffer[]): Promise<string> {
  const aside = `${path}${DAMAGED}${new Date().toISOString().replaceAll(':', '-')}`;
  const file = await open(aside, 'a', 0o600);
  try {
    for (const line of lines) await file.appendFile(Buffer.concat([line, Buffer.from('\n')]));
    await file.sync();
  } finally {
    await file.close();
  }
  await syncFolder(dirname(path));
  return aside;
}

/**
 * Reads a spool file that another process may be writing, and changes nothing. A line without its
 * end is being written, or was cut short before its charge was durable. None of a missing file.
 */
export async function readWhole(path: string): Promise<{ generationIds: readonly string[]; damagedLines: number }> {
  try {
    const { charges, damaged, cutShort } = await scan(path);
    return { generationIds: [...charges.keys()], damagedLines: damaged.length - (cutShort ? 1 : 0) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return { generationIds: [], damagedLines: 0 };
  }
}

/** Counts the damaged lines that are kept aside. */
export async function countDamagedLines(folder: string): Promise<number> {
  let lines = 0;
  for (const name of await readdir(folder)) {
    if (!name.includes(DAMAGED)) continue;
    for await (const _ of linesOf(join(folder, name))) lines += 1;
  }
  return lines;
}

/** Counts files of damaged lines. */
export async function countDamagedFiles(folder: string): Promise<number> {
  return (await readdir(folder)).filter((name) => name.includes(DAMAGED)).length;
}

export async function readBytes(file: Pick<FileHandle, 'read'>, { position, bytes }: PlacedCharge): Promise<Buffer> {
  const buffer = Buffer.alloc(bytes);
  let done = 0;
  while (done < bytes) {
    const { bytesRead } = await file.read(buffer, done, bytes - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
}

export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  await folder.sync().finally(() => folder.close());
}

interface Scanned {
  readonly charges: Charges;
  readonly damaged: readonly Buffer[];
  /** True if the last one of the damaged lines has no end. */
  readonly cutShort: boolean;
}

async function scan(path: string): Promise<Scanned> {
  const charges: Charges = new Map();
  const damaged: Buffer[] = [];
  let cutShort = false;
  for await (const { content, position, ended } of linesOf(path)) {
    const line = decodeLine(content.toString('utf8'));
    if (line === undefined) {
      damaged.push(content);
      cutShort = !ended;
    } else if (line.kind === 'revoked') charges.delete(line.generationId);
    else {
      const { generationId } = line.settlement;
      charges.set(generationId, { generationId, position, bytes: content.length });
    }
  }
  return { charges, damaged, cutShort };
}

/**
 * Rewrites the file with its readable lines. If the process dies meanwhile, the former file
 * remains.
 */
async function rewrite(path: string, charges: Charges): Promise<void> {
  const [from, to] = [await open(path, 'r'), await open(`${path}.new`, 'w', 0o600)];
  try {
    for (const charge of charges.values())
      await to.appendFile(Buffer.concat([Buffer.from('\n'), await readBytes(from, charge), Buffer.from('\n')]));
    await to.sync();
  } finally {
    await Promise.all([from.close(), to.close()]);
  }
  await rename(`${path}.new`, path);
  await syncFolder(dirname(path));
}

/** Reads lines, which end at line feeds, with one line in memory at a time. None is empty. */
export async function* linesOf(path: string): AsyncGenerator<{ content: Buffer; position: number; ended: boolean }> {
  let position = 0;
  let pieces: Buffer[] = [];
  for await (const chunk of createReadStream(path) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, from)) {
      const content = Buffer.concat([...pieces, chunk.subarray(from, at)]);
      pieces = [];
      if (content.length > 0) yield { content, position, ended: true };
      position += content.length + 1;
      from = at + 1;
    }
    if (from < chunk.length) pieces.push(chunk.subarray(from));
  }
  const content = Buffer.concat(pieces);
  if (content.length > 0) yield { content, position, ended: false };
}
