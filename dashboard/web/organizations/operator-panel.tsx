import type { ReactNode } from 'react';
import type { OrganizationView } from '#contract/organization.ts';
import { ORGANIZATION_SETTINGS } from '#contract/shown-settings.ts';
import { Button } from '../components/button.tsx';
import { briefSettings } from '../format/format.ts';
import { useOverlay } from '../overlays/dialog.tsx';
import styles from './operator-panel.module.css';
import { organizationActions } from './organization-dialogs.tsx';
import { settingsOf } from './organization-drafts.ts';

/** For operators, on an organization's overview: its limits, and the operators' actions. */
export function OperatorPanel({ organization }: { readonly organization: OrganizationView }): ReactNode {
  const [overlay, open] = useOverlay();
  return (
    <section className={styles.panel} aria-label="Operator">
      <div className={styles.limits}>
        <strong>Limits</strong>
        {briefSettings(ORGANIZATION_SETTINGS, settingsOf(organization)).map((words) => (
          <span key={words}>{words}</span>
        ))}
      </div>
      <div className="row">
        {organizationActions(organization, open).map(({ label, icon, onSelect }) => (
          <Button key={label} size="small" icon={icon} onClick={onSelect}>
            {label}
          </Button>
        ))}
      </div>
      {overlay}
    </section>
  );
}
