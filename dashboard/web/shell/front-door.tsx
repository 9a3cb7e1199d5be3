import type { ReactNode } from 'react';
import { PageHeader } from '../components/panels.tsx';
import { LOGO, PRODUCT } from '../components/product.ts';
import styles from './front-door.module.css';

export interface FrontDoorProps {
  readonly title: string;
  readonly children: ReactNode;
}

export function FrontDoor({ title, children }: FrontDoorProps): ReactNode {
  return (
    <main className={styles.door}>
      <div className={styles.panel}>
        <p className="product">
          <img src={LOGO} alt="" height="24" />
          {PRODUCT}
        </p>
        <PageHeader title={title} />
        {children}
      </div>
    </main>
  );
}
