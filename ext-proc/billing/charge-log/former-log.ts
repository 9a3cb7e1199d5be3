import { stat } from 'node:fs/promises';
import type { LeftIntent } from '../journal/intent.ts';
import { keepAside, type OnDamage } from './damaged-lines.ts';
import type { KeptSegment } from './kept-segments.ts';
import { hasAnswer, LogContent, type SegmentFile } from './log-entries.ts';
import { readCleaned } from './segment-files.ts';

/** What a process that is gone has logged. */
export interface FormerLog {
  readonly content: LogContent;
  readonly left: readonly LeftIntent[];
  readonly segments: ReadonlyMap<SegmentFile, KeptSegment>;
}

/**
 * Reads segments, one at a time, and moves lines aside that cannot be read. `refused`: charges that
 * another log reported as not taken; those of this one are added.
 */
export async function readFormerLog(
  files: readonly SegmentFile[],
  refused: Set<string>,
  onDamage: OnDamage,
): Promise<FormerLog> {
  const content = new LogContent(refused);
  const segments = new Map<SegmentFile, KeptSegment>();
  for (const file of files) {
    const lines = await readCleaned(file, onDamage);
    for (const line of lines) content.take(file, line);
    const answerBytes = lines.reduce((sum, { text, bytes }) => sum + (hasAnswer(text) ? bytes : 0), 0);
    const { size, mtimeMs } = await stat(file.path);
    segments.set(file, { file, bytes: size, lastMs: mtimeMs, waiting: 0, answerBytes });
  }
  const unreadable: Buffer[] = [];
  const left = content.left((entries) => unreadable.push(...entries));
  const last = files.at(-1);
  if (last && unreadable.length > 0) onDamage(await keepAside(last.path, unreadable), unreadable.length);
  return { content, left, segments };
}
