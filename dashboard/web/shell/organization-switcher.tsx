import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { OrganizationChoice } from '#contract/session.ts';
import { useSession } from '../api/session.ts';
import { Icon } from '../components/icon.tsx';
import { Menu } from '../overlays/menu.tsx';
import type { MenuAction } from '../overlays/menu-popup.tsx';
import { FindOrganization } from './organization-picker.tsx';
import styles from './sidebar.module.css';

const ROLE_LABELS = { operator: 'Operator', owner: 'Owner', member: 'Member' } as const;

/** The user's organizations. Operators find the others by name. */
export function OrganizationSwitcher({
  organization,
}: {
  readonly organization: OrganizationChoice | undefined;
}): ReactNode {
  const { user, organizations } = useSession();
  const [finding, setFinding] = useState(false);
  const navigate = useNavigate();
  const open = (id: string) => void navigate({ to: '/o/$organization/overview', params: { organization: id } });
  const own = organizations.map(
    ({ id, name, suspended }): MenuAction => ({
      label: name,
      ...(suspended && { detail: 'Suspended' }),
      chosen: id === organization?.id,
      onSelect: () => open(id),
    }),
  );
  const find: MenuAction = { label: 'Find organization…', icon: 'search', onSelect: () => setFinding(true) };
  const name = organization?.name ?? 'No organization';
  return (
    <>
      <Menu
        align="start"
        fitTrigger
        groups={[
          ...(own.length > 0 ? [{ heading: 'Your organizations', actions: own }] : []),
          ...(user.isOperator ? [{ actions: [find] }] : []),
        ]}
        trigger={
          <button type="button" className={styles.switcher}>
            <span className={styles.mark} aria-hidden="true">
              {name.slice(0, 1).toUpperCase()}
            </span>
            <span className={styles.names}>
              <span className="visually-hidden">Organization</span>
              <span className={styles.name}>{name}</span>
              {organization && (
                <span className={styles.detail}>
                  {organization.suspended ? 'Suspended' : ROLE_LABELS[organization.role]}
                </span>
              )}
            </span>
            <Icon name="sort" />
          </button>
        }
      />
      {finding && (
        <FindOrganization
          onClose={() => setFinding(false)}
          onFound={(id) => {
            setFinding(false);
            open(id);
          }}
        />
      )}
    </>
  );
}
