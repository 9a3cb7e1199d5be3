import { createHash, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import type { NanoUsd } from '#core/money.ts';

/** An organization's ledger up to an entry, with a hash that reveals changed or lost entries. */
export interface Checkpoint {
  readonly organizationId: string;
  readonly sequence: number;
  readonly balanceNanoUsd: NanoUsd;
  /** Sum of all operator entries up to that entry. */
  readonly totalCreditsNanoUsd: NanoUsd;
  /** Sequence of the previous checkpoint. 0: there is none. */
  readonly previousSequence: number;
  /** SHA-256 of the previous hash and the entries since (`nextHash`). */
  readonly hash: Buffer;
  readonly createdAtMs: number;
  /** Ed25519 key, 32 bytes. */
  readonly publicKey: Buffer;
  /** Signature of everything above, 64 bytes. */
  readonly signature: Buffer;
}

export type Unsigned = Omit<Checkpoint, 'publicKey' | 'signature'>;

export interface CheckpointRun {
  readonly privateKey: KeyObject;
  /** Age of the newest checkpoint at which a new one is made. */
  readonly everyMs: number;
}

/** Entries that one checkpoint covers, so that no verification has to read a larger piece. */
export const MOST_ENTRIES = 10_000;

/** Hash before an organization's first entry. */
export const FIRST_HASH = Buffer.alloc(32);

/** `entriesDigest`: SHA-256 of the entries' lines (ledger/ledger-entries.ts). */
export function nextHash(before: Buffer, entriesDigest: Buffer): Buffer {
  return createHash('sha256').update(before).update(entriesDigest).digest();
}

export function signCheckpoint(checkpoint: Unsigned, privateKey: KeyObject): Checkpoint {
  const signature = sign(null, Buffer.from(signedText(checkpoint)), privateKey);
  return { ...checkpoint, publicKey: rawPublicKey(privateKey), signature };
}

/** True if the signature matches this content and the checkpoint's public key. */
export function isSigned(checkpoint: Checkpoint): boolean {
  const key = createPublicKey({
    key: Buffer.concat([SPKI_OF_ED25519, checkpoint.publicKey]),
    format: 'der',
    type: 'spki',
  });
  return verify(null, Buffer.from(signedText(checkpoint)), key, checkpoint.signature);
}

/** Prefix of the 32 bytes in the standard encoding of Ed25519 public keys (RFC 8410). */
const SPKI_OF_ED25519 = Buffer.from('302a300506032b6570032100', 'hex');

/** Raw public bytes of a private or a public key. */
export function rawPublicKey(key: KeyObject): Buffer {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI_OF_ED25519.length);
}

function signedText(checkpoint: Unsigned): string {
  const { organizationId, sequence, balanceNanoUsd, totalCreditsNanoUsd, previousSequence, hash, createdAtMs } =
    checkpoint;
  return JSON.stringify([
    'ledger checkpoint',
    organizationId,
    sequence,
    String(balanceNanoUsd),
    String(totalCreditsNanoUsd),
    previousSequence,
    hash.toString('hex'),
    createdAtMs,
  ]);
}
