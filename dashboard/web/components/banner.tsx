import type { ReactNode } from 'react';
import type { Tone } from './badge.tsx';
import styles from './banner.module.css';
import { classNames } from './class-names.ts';
import { Icon } from './icon.tsx';

export interface BannerProps {
  readonly tone: Exclude<Tone, 'neutral' | 'accent'> | 'neutral';
  readonly title?: string;
  readonly children?: ReactNode;
  /** A Button or LinkButton. */
  readonly action?: ReactNode;
}

/** Important information. Announced by screen readers if it is bad. */
export function Banner({ tone, title, children, action }: BannerProps): ReactNode {
  return (
    <div className={classNames(styles.banner, styles[tone])} role={tone === 'bad' ? 'alert' : 'status'}>
      <span className={styles.icon}>
        <Icon name={tone === 'good' ? 'check' : tone === 'neutral' ? 'info' : 'errors'} />
      </span>
      <div className={styles.text}>
        {title && <strong>{title}</strong>}
        {children && <div>{children}</div>}
      </div>
      {action}
    </div>
  );
}
