import type { ReactNode } from 'react';
import styles from './skeleton.module.css';

export interface SkeletonProps {
  readonly width?: string;
  /** Absent: that of a line of the text around it. */
  readonly height?: string;
}

/** Stands where something will be, in its size. */
export function Skeleton({ width = '100%', height }: SkeletonProps): ReactNode {
  return <span className={styles.skeleton} style={{ width, ...(height && { height }) }} aria-hidden="true" />;
}

/** Says once, aloud, that something is coming. */
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
