import type { ReactNode } from 'react';
import { StatusPill } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import styles from './requests.module.css';

export interface NewRequestsProps {
  /** Number of requests that wait until the reader is at the top. */
  readonly count: number;
  /** True if there are more than `count`. */
  readonly more: boolean;
  readonly onShow: () => void;
}

/** Shows how many requests are new while the user reads further down, where rows must not move. */
export function NewRequests({ count, more, onShow }: NewRequestsProps): ReactNode {
  const words = `${count}${more ? '+' : ''} new ${count === 1 && !more ? 'request' : 'requests'}`;
  const show = () => {
    onShow();
    window.scrollTo({ top: 0 });
    // The button disappears.
    document.querySelector('h1')?.focus({ preventScroll: true });
  };
  return (
    <div className={styles.arrived} role="status">
      {count > 0 && (
        <Button tone="primary" icon="chevronUp" onClick={show}>
          {words}
        </Button>
      )}
    </div>
  );
}

export interface FollowSwitchProps {
  readonly paused: boolean;
  readonly onChange: (paused: boolean) => void;
}

/** Switches the automatic update of the list. */
export function FollowSwitch({ paused, onChange }: FollowSwitchProps): ReactNode {
  return (
    <span className={styles.follow}>
      <StatusPill tone={paused ? 'neutral' : 'good'}>{paused ? 'Paused' : 'Live'}</StatusPill>
      <Button tone="quiet" icon={paused ? 'play' : 'pause'} onClick={() => onChange(!paused)}>
        {paused ? 'Resume' : 'Pause'}
      </Button>
    </span>
  );
}
