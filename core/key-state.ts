/** `revoking`: the key works until its scheduled revocation. */
export type KeyState = 'usable' | 'revoking' | 'expired' | 'revoked';

interface KeyTimes {
  /** True if the key is revoked already. */
  readonly revoked: boolean;
  /** Time of the revocation. It may be in the future. */
  readonly revokedAtMs?: number;
  readonly expiresAtMs?: number;
}

/** An expired key counts as expired even if it is also due to be revoked. */
export function keyStateAt({ revoked, revokedAtMs, expiresAtMs }: KeyTimes, nowMs: number): KeyState {
  if (revoked) return 'revoked';
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return 'expired';
  return revokedAtMs === undefined ? 'usable' : 'revoking';
}
