import type { ClaimEnd, ClaimedSettlement, Settlement } from './ledger.ts';

/** Settlements as one line of text, for the spool and for dead letters. */

/** bigint is not JSON: amounts travel as decimal text under the names of their fields. */
const AMOUNTS = new Set(['costNanoUsd', 'holdNanoUsd', 'inputPicoUsd', 'cachedInputPicoUsd', 'outputPicoUsd']);
/** Bytes travel as base64. */
const BYTES = new Set(['keyHash', 'bodyHash', 'answer']);

export function encodeSettlement(settlement: Settlement | ClaimedSettlement): string {
  // Before JSON.stringify sees them: the toJSON that Buffers have makes an array of as many numbers.
  const claim = isClaimed(settlement) ? { claim: claimText(settlement.claim) } : {};
  return JSON.stringify({ ...amountsAsText(settlement), prices: amountsAsText(settlement.prices), ...claim });
}

/** A replacer would be asked for each member of all: that takes twice as long, and every charge is written so. */
function amountsAsText(members: object): Record<string, unknown> {
  const plain: Record<string, unknown> = { ...members };
  for (const name in plain) if (typeof plain[name] === 'bigint') plain[name] = String(plain[name]);
  return plain;
}

/** Parses the text of `encodeSettlement`, or any other; `undefined` if it is no JSON. */
export function parseSettlementJson(text: string): unknown {
  try {
    return JSON.parse(text, (name, value: unknown) => {
      if (AMOUNTS.has(name)) return BigInt(String(value));
      return BYTES.has(name) ? Buffer.from(String(value), 'base64') : value;
    });
  } catch {
    return undefined;
  }
}

/** The members that an operator needs for a correction: no response, and nothing of the request. */
export function encodeForOperator(settlement: Settlement | ClaimedSettlement): string {
  return encodeSettlement(isClaimed(settlement) ? withoutClaim(settlement) : settlement);
}

export function isClaimed(settlement: Settlement | ClaimedSettlement): settlement is ClaimedSettlement {
  return 'claim' in settlement;
}

function withoutClaim({ claim: _claim, ...settlement }: ClaimedSettlement): Settlement {
  return settlement;
}

function claimText({ keyHash, bodyHash, answer, ...rest }: ClaimEnd) {
  return {
    ...rest,
    keyHash: keyHash.toString('base64'),
    bodyHash: bodyHash.toString('base64'),
    answer: answer?.toString('base64'),
  };
}
