import type { CheckedLine } from './checked-lines.ts';
import type { UnsettledIntent } from './intent.ts';
import { type IntentEntry, unsettledIntent } from './intent-entries.ts';
import { entriesInHead, kindOf } from './log-entries.ts';
import type { Place } from './segment.ts';
import type { SegmentFile } from './segment-files.ts';

/** Where a charge was written. */
export interface PlacedCharge<S extends SegmentFile> extends Place<S> {
  readonly generationId: string;
  readonly organizationId: string;
}

export interface Commit {
  readonly generationId: string;
  readonly epoch: string;
}

/** State of a log, built from its entries in order. */
export class LogContent<S extends SegmentFile> {
  /** Charges that are neither committed nor given up, by generation id, in order of arrival. */
  readonly waiting = new Map<string, PlacedCharge<S>>();
  /** Epochs of the commits, by generation id. */
  readonly committed = new Map<string, string>();
  /**
   * The newest first commit of a charge. A charge that was sent again in another epoch does not
   * count, because the ledger may have refused it.
   */
  lastCommit: Commit | undefined;
  #unsettled = new Map<string, IntentEntry[]>();

  take(segment: S, { text, position, bytes }: CheckedLine): void {
    const kind = kindOf(text);
    if (kind === 'K') this.#commit(text.toString('latin1', 1).split(' '));
    else if (kind === 'S' || kind === 'L') {
      const [generationId = '', organizationId = ''] = text.toString('latin1', 1, text.indexOf('{')).split(' ');
      this.#unsettled.delete(generationId);
      this.waiting.set(generationId, { generationId, organizationId, segment, position, bytes });
    } else if (kind === 'H') {
      this.#unsettled = new Map();
      for (const entry of entriesInHead(text)) this.#takeIntent(entry);
    } else this.#takeIntent(text.toString('utf8'));
  }

  /** Unsettled requests in the order of their calls. `onUnreadable` gets undecodable entries. */
  unsettled(onUnreadable: (entry: Buffer) => void): UnsettledIntent[] {
    return [...this.#unsettled].flatMap(([generationId, entries]) => {
      try {
        return [unsettledIntent(generationId, entries)];
      } catch {
        for (const { kind, rest } of entries) onUnreadable(Buffer.from(`${kind}${generationId} ${rest}`));
        return [];
      }
    });
  }

  #commit([epoch = '', ...generationIds]: readonly string[]): void {
    for (const generationId of generationIds) {
      this.waiting.delete(generationId);
      this.#unsettled.delete(generationId);
      if (epoch !== '' && !this.committed.has(generationId)) this.lastCommit = { generationId, epoch };
      if (epoch === '') this.committed.delete(generationId);
      else this.committed.set(generationId, epoch);
    }
  }

  #takeIntent(entry: string): void {
    const idEnd = entry.indexOf(' ');
    const [kind = '', generationId, rest] = [entry[0], entry.slice(1, idEnd), entry.slice(idEnd + 1)];
    if (kind === 'A') this.#unsettled.set(generationId, [{ kind, rest }]);
    else if (kind === 'E') this.#unsettled.delete(generationId);
    // An entry without the first entry of its request is dropped.
    else this.#unsettled.get(generationId)?.push({ kind, rest });
  }
}
