import { type ReactNode, useState } from 'react';
import type { OrganizationView } from '#contract/organization.ts';
import { Button } from '../components/button.tsx';
import { limitLabels } from './limit-labels.ts';
import styles from './operator-panel.module.css';
import type { OrganizationAction } from './organization-dialogs.tsx';
import { OrganizationDialog } from './organization-dialogs.tsx';

/**
 * For operators, on the overview of an organization: its limits, and actions that only operators
 * have.
 */
export function OperatorPanel({ organization }: { readonly organization: OrganizationView }): ReactNode {
  const { id, suspendedAtMs, limits, priceList } = organization;
  const [what, setWhat] = useState<OrganizationAction['what']>();
  return (
    <section className={styles.panel} aria-label="Operator">
      <div className={styles.limits}>
        <strong>Limits</strong>
        {limitLabels(limits).map((words) => (
          <span key={words}>{words}</span>
        ))}
        {priceList !== undefined && <span>Price list {priceList}</span>}
      </div>
      <div className={styles.buttons}>
        <Button size="small" icon="credits" onClick={() => setWhat('credit')}>
          Add credit
        </Button>
        <Button size="small" icon="edit" onClick={() => setWhat('edit')}>
          Edit limits
        </Button>
        <Button
          size="small"
          icon={suspendedAtMs === undefined ? 'pause' : 'play'}
          onClick={() => setWhat('suspension')}
        >
          {suspendedAtMs === undefined ? 'Suspend' : 'Resume'}
        </Button>
      </div>
      {what && <OrganizationDialog action={{ what, id }} onClose={() => setWhat(undefined)} />}
    </section>
  );
}
