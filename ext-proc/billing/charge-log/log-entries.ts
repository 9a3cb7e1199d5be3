import type { ClaimedSettlement, Settlement } from '#database/ledger/ledger.ts';
import {
  encodeForOperator,
  encodeSettlement,
  isClaimed,
  parseSettlementJson,
} from '#database/ledger/settlement-json.ts';
import { isSettlement } from '#database/ledger/settlement-shape.ts';
import type { LeftIntent } from '../journal/intent.ts';
import type { CheckedLine } from './checked-lines.ts';
import { type IntentEntry, leftIntent } from './intent-entries.ts';

/**
 * Entries of the log: a letter, ids that spaces separate, and a content. Beside those of requests
 * (intent-entries.ts): S and L, a charge, L with a stored response; K, charges that are committed
 * in an epoch, or never will be; X, charges that were reported as not taken; H, the head of a
 * segment, which replaces what the log had of requests by the entries in it.
 */
export function chargeEntry(settlement: Settlement | ClaimedSettlement): string {
  const kind = isClaimed(settlement) && settlement.claim.answer !== undefined ? 'L' : 'S';
  return `${kind}${settlement.generationId} ${settlement.organizationId} ${encodeSettlement(settlement)}`;
}

/** `epoch` undefined: they will never be charged. */
export function committedEntry(generationIds: readonly string[], epoch: string | undefined): string {
  return `K${epoch ?? ''} ${generationIds.join(' ')}`;
}

export function refusedEntry(generationIds: readonly string[]): string {
  return `X ${generationIds.join(' ')}`;
}

const HEAD_SEPARATOR = '\t';

export function headEntry(entries: readonly string[]): string {
  return `H ${entries.join(HEAD_SEPARATOR)}`;
}

/** Reads the charge in an entry. `undefined`: it has none. */
export function chargeIn(text: Buffer): Settlement | ClaimedSettlement | undefined {
  const settlement = isCharge(text) ? parseSettlementJson(text.toString('utf8', text.indexOf('{'))) : undefined;
  return isSettlement(settlement) ? settlement : undefined;
}

export function hasAnswer(text: Buffer): boolean {
  return text[0] === code('L');
}

/** An entry without the response that it stores. */
export function withoutAnswer(text: Buffer): string {
  const charge = hasAnswer(text) ? chargeIn(text) : undefined;
  if (charge === undefined) return text.toString('utf8');
  return `S${charge.generationId} ${charge.organizationId} ${encodeForOperator(charge)}`;
}

/** False for an entry of another version. */
export function isEntry(text: Buffer): boolean {
  return KINDS.has(text[0] ?? 0) && text.includes(SPACE);
}

const SPACE = 32;
const KINDS = new Set('ATPURCESLKXH'.split('').map(code));

/** Segment of a log. */
export interface SegmentFile {
  readonly path: string;
  readonly number: number;
}

/** A charge and its place in the log. */
export interface PlacedCharge {
  readonly generationId: string;
  readonly organizationId: string;
  readonly segment: SegmentFile;
  readonly position: number;
  readonly bytes: number;
}

/** What a log says, from its entries in order. */
export class LogContent {
  /** Charges that are neither committed nor given up, by generation id, in order of arrival. */
  readonly waiting = new Map<string, PlacedCharge>();
  /** Epochs of the commits, by generation id. */
  readonly committed = new Map<string, string>();
  readonly refused: Set<string>;
  #left = new Map<string, IntentEntry[]>();

  /** `refused`: known from another log. */
  constructor(refused = new Set<string>()) {
    this.refused = refused;
  }

  take(segment: SegmentFile, { text, position, bytes }: CheckedLine): void {
    const kind = text.toString('latin1', 0, 1);
    if (kind === 'K') this.#commit(text.toString('latin1', 1).split(' '));
    else if (kind === 'X') for (const id of text.toString('latin1', 2).split(' ')) this.#refuse(id);
    else if (kind === 'H') {
      this.#left = new Map();
      for (const entry of text.toString('utf8', 2).split(HEAD_SEPARATOR)) this.#takeIntent(entry);
    } else if (isCharge(text)) {
      const [generationId, organizationId] = text.toString('latin1', 1, text.indexOf('{')).split(' ') as [
        string,
        string,
      ];
      this.#left.delete(generationId);
      if (!this.refused.has(generationId))
        this.waiting.set(generationId, { generationId, organizationId, segment, position, bytes });
    } else this.#takeIntent(text.toString('utf8'));
  }

  /**
   * Unsettled requests, in the order in which providers were asked. `onUnreadable`: these entries
   * are of another version.
   */
  left(onUnreadable: (entries: readonly Buffer[]) => void): LeftIntent[] {
    return [...this.#left].flatMap(([generationId, entries]) => {
      try {
        return [leftIntent(generationId, entries)];
      } catch {
        onUnreadable(entries.map(({ kind, rest }) => Buffer.from(`${kind}${generationId} ${rest}`)));
        return [];
      }
    });
  }

  #commit([epoch = '', ...generationIds]: readonly string[]): void {
    for (const generationId of generationIds) {
      this.waiting.delete(generationId);
      this.#left.delete(generationId);
      if (epoch === '') this.committed.delete(generationId);
      else this.committed.set(generationId, epoch);
    }
  }

  #refuse(generationId: string): void {
    this.refused.add(generationId);
    this.waiting.delete(generationId);
  }

  #takeIntent(entry: string): void {
    const idEnd = entry.indexOf(' ');
    const [kind = '', generationId, rest] = [entry[0], entry.slice(1, idEnd), entry.slice(idEnd + 1)];
    if (kind === 'A') this.#left.set(generationId, [{ kind, rest }]);
    else if (kind === 'E') this.#left.delete(generationId);
    // Without its first entry the request is unknown.
    else this.#left.get(generationId)?.push({ kind, rest });
  }
}

function isCharge(text: Buffer): boolean {
  return text[0] === code('S') || text[0] === code('L');
}

function code(letter: string): number {
  return letter.charCodeAt(0);
}
