import type { AnySettlement } from '#database/ledger/ledger.ts';
import { encodeSettlement, isClaimed, parseSettlementJson } from '#database/ledger/settlement-json.ts';
import { isSettlement } from '#database/ledger/settlement-shape.ts';

/**
 * An entry of the log is a letter, ids separated by spaces, and content. A, T, D and E are about
 * requests (intent-entries.ts). S and L are charges, L with a stored response. K lists charges that
 * are committed in an epoch, or never will be. H is the head of a segment: its entries replace
 * everything that earlier segments say of unsettled requests.
 */
const KINDS = 'ATDESLKH';
const HEAD_SEPARATOR = '\t';

export function chargeEntry(settlement: AnySettlement): string {
  const kind = hasStoredResponse(settlement) ? 'L' : 'S';
  return `${kind}${settlement.generationId} ${settlement.organizationId} ${encodeSettlement(settlement)}`;
}

/** `epoch` undefined: these charges will never be made. */
export function committedEntry(generationIds: readonly string[], epoch: string | undefined): string {
  return `K${epoch ?? ''} ${generationIds.join(' ')}`;
}

export function headEntry(entries: readonly string[]): string {
  return `H ${entries.join(HEAD_SEPARATOR)}`;
}

/** The entries of requests in the head of a segment. */
export function entriesInHead(text: Buffer): readonly string[] {
  return text.toString('utf8', 2).split(HEAD_SEPARATOR);
}

/** Letter of an entry. `undefined`: the entry is of another version. */
export function kindOf(text: Buffer): string | undefined {
  const kind = text.toString('latin1', 0, 1);
  return KINDS.includes(kind) && text.includes(' ') ? kind : undefined;
}

/** Reads the charge in an entry. `undefined`: it has none. */
export function chargeIn(text: Buffer): AnySettlement | undefined {
  const kind = kindOf(text);
  const settlement =
    kind === 'S' || kind === 'L' ? parseSettlementJson(text.toString('utf8', text.indexOf('{'))) : undefined;
  return isSettlement(settlement) ? settlement : undefined;
}

export function entryWithoutResponse(text: Buffer): string {
  const charge = kindOf(text) === 'L' ? chargeIn(text) : undefined;
  return charge ? chargeEntry(withoutResponse(charge)) : text.toString('utf8');
}

/** A charge without its stored response. Its claim still decides whether it is made. */
export function withoutResponse(settlement: AnySettlement): AnySettlement {
  if (!isClaimed(settlement) || settlement.claim.response === undefined) return settlement;
  const { response: _response, ...claim } = settlement.claim;
  return { ...settlement, claim: { ...claim, responseElsewhere: true } };
}

export function hasStoredResponse(settlement: AnySettlement): boolean {
  return isClaimed(settlement) && settlement.claim.response !== undefined;
}
