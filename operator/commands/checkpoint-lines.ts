import type { Checkpoint } from '#database/checkpoints/checkpoints.ts';

/** JSON of `ledger checkpoints`. Amounts are text: JSON numbers are not exact enough to sign. */
export function checkpointJson(checkpoint: Checkpoint) {
  return {
    organization_id: checkpoint.organizationId,
    sequence: checkpoint.sequence,
    balance_nano_usd: String(checkpoint.balanceNanoUsd),
    total_credits_nano_usd: String(checkpoint.totalCreditsNanoUsd),
    previous_sequence: checkpoint.previousSequence,
    hash: checkpoint.hash.toString('hex'),
    created_at: new Date(checkpoint.createdAtMs).toISOString(),
    public_key: checkpoint.publicKey.toString('base64url'),
    signature: checkpoint.signature.toString('base64url'),
  };
}

/** Reads exported checkpoints, each once. A string describes the problem. */
export function readExported(text: string): readonly Checkpoint[] | string {
  try {
    const trimmed = text.trim();
    const lines = new Set(trimmed.split('\n').map((line) => line.trim()));
    lines.delete('');
    const values: unknown[] = trimmed.startsWith('[')
      ? JSON.parse(trimmed)
      : [...lines].map((line) => JSON.parse(line));
    if (values.length === 0) return 'it has no checkpoint';
    return values.map((value) => checkpointOfJson(value as ReturnType<typeof checkpointJson>));
  } catch {
    return 'it has no output of `ledger checkpoints`';
  }
}

/** Throws if a member is missing or has another type. */
function checkpointOfJson(json: ReturnType<typeof checkpointJson>): Checkpoint {
  const checkpoint = {
    organizationId: json.organization_id,
    sequence: json.sequence,
    balanceNanoUsd: BigInt(json.balance_nano_usd),
    totalCreditsNanoUsd: BigInt(json.total_credits_nano_usd),
    previousSequence: json.previous_sequence,
    hash: Buffer.from(json.hash, 'hex'),
    createdAtMs: Date.parse(json.created_at),
    publicKey: Buffer.from(json.public_key, 'base64url'),
    signature: Buffer.from(json.signature, 'base64url'),
  };
  const { organizationId, sequence, createdAtMs, hash, publicKey, signature } = checkpoint;
  const isWhole = typeof organizationId === 'string' && Number.isSafeInteger(sequence) && !Number.isNaN(createdAtMs);
  if (!isWhole || hash.length !== 32 || publicKey.length !== 32 || signature.length !== 64)
    throw new Error('not a checkpoint');
  return checkpoint;
}
