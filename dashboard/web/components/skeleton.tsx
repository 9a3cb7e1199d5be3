import type { ReactNode } from 'react';
import styles from './skeleton.module.css';

export interface SkeletonProps {
  readonly width?: string;
  /** Default: the line height of the surrounding text. */
  readonly height?: string;
}

/** Placeholder of the same size as the expected content. */
export function Skeleton({ width = '100%', height }: SkeletonProps): ReactNode {
  return <span className={styles.skeleton} style={{ width, ...(height && { height }) }} aria-hidden="true" />;
}

/** Announces once that content is loading. */
export function Loading({
  label = 'Loading',
  children,
}: {
  readonly label?: string;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <div aria-busy="true" className={styles.loading}>
      <span className="visually-hidden" role="status">
        {label}
      </span>
      {children}
    </div>
  );
}
