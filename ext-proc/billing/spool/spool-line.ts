import { hostname } from 'node:os';
import { crc32 } from 'node:zlib';
import type { ClaimedSettlement, Settlement } from '#database/ledger/ledger.ts';
import { encodeSettlement, parseSettlementJson } from '#database/ledger/settlement-json.ts';
import { isSettlement } from '#database/ledger/settlement-shape.ts';

/**
 * Line of the spool: JSON with the members of a settlement, then `line` with version and owner,
 * then the checksum of the text before it.
 */
export type SpoolLine =
  | { readonly kind: 'charge'; readonly settlement: Settlement | ClaimedSettlement }
  /** Revokes an earlier charge with this id, which was reported as lost. */
  | { readonly kind: 'revoked'; readonly generationId: string };

const VERSION = 1;
/** Owner, for people who read the file. */
const OWNER = `${hostname()}/${process.pid}/${new Date().toISOString()}`;
const CHECKSUM = /^,"crc32":"([0-9a-f]{8})"\}$/;
const CHECKSUM_LENGTH = ',"crc32":"00000000"}'.length;

export function encodeCharge(settlement: Settlement | ClaimedSettlement): string {
  return seal(encodeSettlement(settlement));
}

export function encodeRevocation(generationId: string): string {
  return seal(JSON.stringify({ revoked: generationId }));
}

/** Decodes a line. `undefined`: damaged or cut short. */
export function decodeLine(text: string): SpoolLine | undefined {
  const checksum = CHECKSUM.exec(text.slice(-CHECKSUM_LENGTH))?.[1];
  if (checksum !== checksumOf(text.slice(0, -CHECKSUM_LENGTH))) return undefined;
  const value = parseSettlementJson(text);
  if (typeof value !== 'object' || value === null) return undefined;
  const { line, crc32: _checksum, ...content } = value as Record<string, unknown>;
  if (versionOf(line) !== VERSION) return undefined;
  if (typeof content.revoked === 'string') return { kind: 'revoked', generationId: content.revoked };
  return isSettlement(content) ? { kind: 'charge', settlement: content } : undefined;
}

function seal(json: string): string {
  const content = `${json.slice(0, -1)},"line":${JSON.stringify({ version: VERSION, owner: OWNER })}`;
  return `${content},"crc32":"${checksumOf(content)}"}`;
}

function checksumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

function versionOf(line: unknown): unknown {
  return typeof line === 'object' && line !== null && 'version' in line ? line.version : undefined;
}
