import type { ReactNode } from 'react';
import { StatusPill } from '../../components/badge.tsx';
import { Button } from '../../components/button.tsx';
import styles from './requests.module.css';

export interface FollowSwitchProps {
  readonly paused: boolean;
  readonly onChange: (paused: boolean) => void;
}

/** Whether new requests come in by themselves. */
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
