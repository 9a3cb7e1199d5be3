import type { AnySettlement, ClaimEnd, ClaimedSettlement, Settlement } from './ledger.ts';
import { membersOfKind } from './settlement-shape.ts';

/** Members that are amounts. JSON has amounts as decimal text and bytes as base64. */
const AMOUNTS = membersOfKind('amount');
const BYTES = membersOfKind('bytes');

export function encodeSettlement(settlement: AnySettlement): string {
  // Buffers become base64 here, because their own toJSON writes an array of numbers.
  const claim = isClaimed(settlement) ? { claim: claimText(settlement.claim) } : {};
  return JSON.stringify({ ...amountsAsText(settlement), prices: amountsAsText(settlement.prices), ...claim });
}

/** Converts amounts to text, for every charge. A replacer of JSON.stringify takes twice as long. */
function amountsAsText(members: object): Record<string, unknown> {
  const plain: Record<string, unknown> = { ...members };
  for (const name in plain) if (typeof plain[name] === 'bigint') plain[name] = String(plain[name]);
  return plain;
}

/** Parses text of `encodeSettlement`, or other JSON as it is. `undefined`: it is no JSON. */
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

/** Encodes a settlement for an operator's correction, without stored response and trace. */
export function encodeForOperator(settlement: AnySettlement): string {
  return encodeSettlement(withoutClaim(settlement));
}

export function isClaimed(settlement: AnySettlement): settlement is ClaimedSettlement {
  return 'claim' in settlement;
}

export function withoutClaim(charge: AnySettlement): Settlement {
  if (!isClaimed(charge)) return charge;
  const { claim: _claim, ...settlement } = charge;
  return settlement;
}

function claimText({ keyHash, bodyHash, response, ...rest }: ClaimEnd) {
  return {
    ...rest,
    keyHash: keyHash.toString('base64'),
    bodyHash: bodyHash.toString('base64'),
    response: response?.toString('base64'),
  };
}
