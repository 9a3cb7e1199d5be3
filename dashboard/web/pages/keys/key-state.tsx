import type { ReactNode } from 'react';
import type { KeyView } from '../../../contract/keys.ts';
import { StatusPill } from '../../components/badge.tsx';
import { formatInstant, formatRelative } from '../../format/format-instant.ts';
import { hasEnded } from './filter-keys.ts';

/** Soon enough to say it before it happens. */
const SOON_MS = 7 * 86_400_000;

/** Whether the key works, and what will end that. */
export function KeyState({ state }: { readonly state: KeyView }): ReactNode {
  const { tone, text, atMs } = wordsOf(state, Date.now());
  return (
    <span data-hint={atMs === undefined ? undefined : formatInstant(atMs)}>
      <StatusPill tone={tone}>{text}</StatusPill>
    </span>
  );
}

function wordsOf(
  key: KeyView,
  nowMs: number,
): { tone: 'good' | 'warn' | 'neutral'; text: string; atMs?: number | undefined } {
  const { state, revokedAtMs, expiresAtMs } = key;
  if (state === 'revoked') return { tone: 'neutral', text: 'Revoked', atMs: revokedAtMs };
  if (state === 'expired') return { tone: 'neutral', text: 'Expired', atMs: expiresAtMs };
  if (state === 'revoking' && revokedAtMs !== undefined)
    return { tone: 'warn', text: `Revoked ${formatRelative(revokedAtMs, nowMs)}`, atMs: revokedAtMs };
  if (expiresAtMs !== undefined && expiresAtMs - nowMs < SOON_MS)
    return { tone: 'warn', text: `Expires ${formatRelative(expiresAtMs, nowMs)}`, atMs: expiresAtMs };
  return { tone: 'good', text: 'Usable' };
}

/** Why nothing can be done with a key by who looks at it, or undefined. */
export function whyFixed(key: KeyView): string | undefined {
  if (key.state === 'revoked') return 'A revoked key stays revoked. Create another one instead.';
  if (key.mine) return undefined;
  const maker = key.createdBy === undefined ? 'Only owners' : `Only ${key.createdBy} and owners`;
  return `${maker} of the organization may change this key.`;
}

/** A new key could not outlive one that has expired, and one that is being replaced is not replaced twice. */
export function mayReplace(key: KeyView): boolean {
  return !hasEnded(key) && key.state !== 'revoking';
}
