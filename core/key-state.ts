/** `revoking`: works until its revocation, which is scheduled. */
export type KeyState = 'usable' | 'revoking' | 'expired' | 'revoked';

interface KeyTimes {
  /** True if it is revoked by now. */
  readonly revoked: boolean;
  /** In the future: it will be revoked then. */
  readonly revokedAtMs?: number;
  readonly expiresAtMs?: number;
}

/** An expired key counts as expired even if it is also due to be revoked. */
export function keyStateAt({ revoked, revokedAtMs, expiresAtMs }: KeyTimes, nowMs: number): KeyState {
  if (revoked) return 'revoked';
  if (expiresAtMs !== undefined && expiresAtMs <= nowMs) return 'expired';
  return revokedAtMs === undefined ? 'usable' : 'revoking';
}
