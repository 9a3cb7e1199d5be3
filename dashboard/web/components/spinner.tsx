import type { ReactNode } from 'react';
import styles from './spinner.module.css';

export function Spinner(): ReactNode {
  return <span className={styles.spinner} aria-hidden="true" />;
}
