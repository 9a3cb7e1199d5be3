import { stat } from 'node:fs/promises';
import type { Clock } from '#core/clock.ts';
import { keepAside, type OnDamage } from './damaged-lines.ts';
import type { KeptSegment } from './kept-segments.ts';
import { type Commit, LogContent } from './log-content.ts';
import { kindOf } from './log-entries.ts';
import { readCleaned, segmentsOf } from './segment-files.ts';

/** Reads the log of ended processes, segment by segment, and moves unreadable lines aside. */
export async function readFormerLog(folder: string, workerIndex: number, clock: Clock, onDamage: OnDamage) {
  const content = new LogContent<KeptSegment>();
  const segments: KeptSegment[] = [];
  const lastCommits = new Set<Commit>();
  for (const file of await segmentsOf(folder, workerIndex)) {
    const lines = await readCleaned(file, onDamage);
    const { size } = await stat(file.path);
    const withResponse = lines.filter(({ text }) => kindOf(text) === 'L').map(({ bytes }) => bytes);
    const responseBytes = withResponse.reduce((sum, bytes) => sum + bytes, 0);
    const segment = { ...file, bytes: size, lastMs: clock.monotonicMs(), waiting: 0, responseBytes, isClosed: true };
    for (const line of lines) content.take(segment, line);
    segments.push(segment);
    // An adopted log may be older than the segments before it.
    if (content.lastCommit) lastCommits.add(content.lastCommit);
  }
  const unreadable: Buffer[] = [];
  const unsettled = content.unsettled((entry) => unreadable.push(entry));
  const last = segments.at(-1);
  if (last && unreadable.length > 0) onDamage(await keepAside(last.path, unreadable), unreadable.length);
  return { content, unsettled, segments, lastCommits };
}

export type FormerLog = Awaited<ReturnType<typeof readFormerLog>>;
