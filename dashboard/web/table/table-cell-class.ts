import { classNames } from '../components/class-names.ts';
import styles from './table.module.css';
import type { Column } from './table.tsx';

export function cellClass<Row>({ numeric, hideBelow, showBelow }: Column<Row>): string {
  return classNames(numeric && styles.numeric, hideBelow && styles[hideBelow], showBelow && styles.onPhones);
}
