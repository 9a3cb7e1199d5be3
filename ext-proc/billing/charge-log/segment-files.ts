import { open, readdir, readFile, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type CheckedLine, checkedLine, eachLine } from './checked-lines.ts';
import { keepAside, type OnDamage, syncFolder } from './damaged-lines.ts';
import { kindOf } from './log-entries.ts';

export interface SegmentFile {
  readonly number: number;
  readonly path: string;
}

/** `log-WORKER.NUMBER.jsonl` */
const NAME = /^log-(\d+)\.(\d+)\.jsonl$/;

export function segmentFile(folder: string, workerIndex: number, number: number): SegmentFile {
  return { number, path: join(folder, `log-${workerIndex}.${number}.jsonl`) };
}

export async function segmentsOf(folder: string, workerIndex: number): Promise<SegmentFile[]> {
  return (await readdir(folder))
    .flatMap((name) => {
      const [, worker, number] = NAME.exec(name) ?? [];
      return Number(worker) === workerIndex ? [segmentFile(folder, workerIndex, Number(number))] : [];
    })
    .sort((a, b) => a.number - b.number);
}

/** Reads a segment of a few MiB, changing nothing. No lines: its process removed the file. */
export async function readSegment({ path }: SegmentFile) {
  const content = await readFile(path).catch(emptyIfRemoved);
  const lines: CheckedLine[] = [];
  const damaged: Buffer[] = [];
  const take = (line: CheckedLine): void => {
    if (kindOf(line.text)) lines.push(line);
    else damaged.push(content.subarray(line.position, line.position + line.bytes));
  };
  eachLine(content, take, (line) => damaged.push(line));
  return { lines, damaged };
}

/** Reads a segment that no process writes, and moves its damaged lines aside. */
export async function readCleaned(segment: SegmentFile, onDamage: OnDamage): Promise<readonly CheckedLine[]> {
  const { lines, damaged } = await readSegment(segment);
  if (damaged.length === 0) return lines;
  const aside = await keepAside(segment.path, damaged);
  await rewriteSegment(segment, lines, ({ text }) => text.toString('utf8'));
  onDamage(aside, damaged.length);
  return (await readSegment(segment)).lines;
}

/** Replaces lines of a segment. After a crash the old file remains. Returns the new file's size. */
export async function rewriteSegment(
  { path }: SegmentFile,
  lines: readonly CheckedLine[],
  change: (line: CheckedLine) => string,
): Promise<number> {
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(lines.map((line) => checkedLine(change(line))).join(''));
    await file.sync();
    await rename(`${path}.new`, path);
    await syncFolder(dirname(path));
    return (await file.stat()).size;
  } finally {
    await file.close();
  }
}

/** Reads a line at its position. The result is shorter if the file has become shorter. */
export async function readAt(
  path: string,
  { position, bytes }: Pick<CheckedLine, 'position' | 'bytes'>,
): Promise<Buffer> {
  const file = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, position);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

function emptyIfRemoved(error: NodeJS.ErrnoException): Buffer {
  if (error.code !== 'ENOENT') throw error;
  return Buffer.alloc(0);
}
