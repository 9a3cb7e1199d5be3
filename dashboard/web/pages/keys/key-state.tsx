import type { ReactNode } from 'react';
import type { KeyView } from '../../../contract/keys.ts';
import { StatusPill } from '../../components/badge.tsx';
import { Instant } from '../../components/instant.tsx';
import { type KeyStanding, keyStanding } from './key-standing.ts';
import styles from './keys.module.css';

const PILLS: Readonly<
  Record<KeyStanding['kind'], { readonly tone: 'good' | 'warn' | 'neutral'; readonly word: string }>
> = {
  usable: { tone: 'good', word: 'Usable' },
  expiring: { tone: 'warn', word: 'Expiring' },
  revoking: { tone: 'warn', word: 'Revoking' },
  expired: { tone: 'neutral', word: 'Expired' },
  revoked: { tone: 'neutral', word: 'Revoked' },
};

/** Whether the key works, and when that ends or ended. */
export function KeyState({ of: key }: { readonly of: KeyView }): ReactNode {
  const { kind, atMs } = keyStanding(key, Date.now());
  const { tone, word } = PILLS[kind];
  return (
    <span className={styles.state}>
      <StatusPill tone={tone}>{word}</StatusPill>
      {atMs !== undefined && (
        <span className={styles.muted}>
          <Instant atMs={atMs} show="relative" />
        </span>
      )}
    </span>
  );
}
