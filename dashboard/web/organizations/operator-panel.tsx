import { type ReactNode, useState } from 'react';
import type { OrganizationView } from '#contract/organization.ts';
import { ORGANIZATION_SETTINGS } from '#contract/shown-settings.ts';
import { Button } from '../components/button.tsx';
import { briefSettings } from '../format/format.ts';
import styles from './operator-panel.module.css';
import { type OrganizationAction, OrganizationDialog } from './organization-dialogs.tsx';
import { settingsOf } from './organization-drafts.ts';

/**
 * For operators, on the overview of an organization: its limits, and actions that only operators
 * have.
 */
export function OperatorPanel({ organization }: { readonly organization: OrganizationView }): ReactNode {
  const { id, suspendedAtMs } = organization;
  const [what, setWhat] = useState<OrganizationAction['what']>();
  return (
    <section className={styles.panel} aria-label="Operator">
      <div className={styles.limits}>
        <strong>Limits</strong>
        {briefSettings(ORGANIZATION_SETTINGS, settingsOf(organization)).map((words) => (
          <span key={words}>{words}</span>
        ))}
      </div>
      <div className="row">
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
