import type { Settlement } from '#database/ledger/ledger.ts';
import { withoutClaim } from '#database/ledger/settlement-json.ts';
import type { UnsettledIntent } from './intent.ts';
import { LogContent } from './log-content.ts';
import { chargeIn } from './log-entries.ts';
import { readSegment, type SegmentFile, segmentsOf } from './segment-files.ts';

/** Content of a worker's log that a database may lack. */
export interface WorkerLog {
  /** Charges that wait, by generation id. */
  readonly waiting: readonly string[];
  /** Requests that are neither charged nor released. */
  readonly unsettled: readonly UnsettledIntent[];
  /** Number of unreadable lines. A last line that a crash cut short does not count. */
  readonly damagedLines: number;
}

/** Reads the log of a worker, even while its process writes it. Changes nothing. */
export async function readWorkerLog(folder: string, workerIndex: number): Promise<WorkerLog> {
  const content = new LogContent();
  const damaged: Buffer[] = [];
  for (const segment of await segmentsOf(folder, workerIndex)) {
    const read = await readSegment(segment);
    for (const line of read.lines) content.take(segment, line);
    damaged.push(...read.damaged);
  }
  const unsettled = content.unsettled((entry) => damaged.push(entry));
  return { waiting: [...content.waiting.keys()], unsettled, damagedLines: damaged.length };
}

/** Reads the charges of a worker that were committed in another epoch. Changes nothing. */
export async function* chargesOfOtherEpochs(
  folder: string,
  workerIndex: number,
  epoch: string,
): AsyncGenerator<Settlement> {
  yield* committedInOtherEpochs(await segmentsOf(folder, workerIndex), epoch);
}

/** Charges in these segments that were last committed in another epoch, without their claims. */
export async function* committedInOtherEpochs(
  segments: readonly SegmentFile[],
  epoch: string,
): AsyncGenerator<Settlement> {
  const content = new LogContent();
  for (const segment of segments) for (const line of (await readSegment(segment)).lines) content.take(segment, line);
  const inOtherEpochs = new Set([...content.committed].flatMap(([id, of]) => (of === epoch ? [] : [id])));
  for (const segment of segments) {
    for (const { text } of (await readSegment(segment)).lines) {
      const charge = chargeIn(text);
      // A charge may have been written twice.
      if (charge && inOtherEpochs.delete(charge.generationId)) yield withoutClaim(charge);
    }
  }
}
