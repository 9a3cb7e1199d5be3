import type { ReactNode } from 'react';
import type { KeyView } from '#contract/keys.ts';
import { countOf } from '#core/count-of.ts';
import { isExpiring } from '#core/key-filter.ts';
import { Banner } from '../../components/banner.tsx';
import { Button } from '../../components/button.tsx';
import { Instant } from '../../components/figures.tsx';
import type { OnKeyAction } from './key-status.ts';

const MOST_NAMES = 3;

export interface ExpiryBannerProps {
  readonly keys: readonly KeyView[];
  readonly onAct: OnKeyAction;
  /** Absent while the list shows them. */
  readonly onShow: (() => void) | undefined;
}

/** Notice of keys that expire within a week, while there is time to extend or replace them. */
export function ExpiryBanner({ keys, onAct, onShow }: ExpiryBannerProps): ReactNode {
  const nowMs = Date.now();
  const expiring = keys
    .filter((key) => isExpiring(key, nowMs))
    .toSorted((a, b) => (a.expiresAtMs ?? 0) - (b.expiresAtMs ?? 0));
  const [first, ...others] = expiring;
  if (first === undefined) return null;
  const extend = others.length === 0 && first.mine && (
    <Button onClick={() => onAct({ what: 'extend', of: first })}>Extend</Button>
  );
  const show = others.length > 0 && onShow && <Button onClick={onShow}>Show them</Button>;
  return (
    <Banner
      tone="warn"
      title={`${countOf(expiring.length, 'key')} ${others.length === 0 ? 'expires' : 'expire'} within 7 days`}
      action={extend || show}
    >
      {expiring.slice(0, MOST_NAMES).map((key, index) => (
        <span key={key.id}>
          {index > 0 && ', '}“{key.name}” <Instant atMs={key.expiresAtMs ?? 0} show="relative" />
        </span>
      ))}
      {expiring.length > MOST_NAMES && ` and ${countOf(expiring.length - MOST_NAMES, 'other')}`}. Then requests get 401
      key_expired, unless you extend or replace {others.length === 0 ? 'it' : 'them'} before.
    </Banner>
  );
}
