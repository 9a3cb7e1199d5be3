import { useNavigate } from '@tanstack/react-router';
import { type ComponentProps, type ReactNode, useState } from 'react';
import { useAsk } from '../api/queries.ts';
import { useSession } from '../api/session.ts';
import { Button } from '../components/button.tsx';
import { classNames } from '../components/class-names.ts';
import { Icon } from '../components/icon.tsx';
import { loadedLater } from '../components/loaded-later.tsx';
import { useFieldControl } from '../forms/field.tsx';
import { Menu } from '../overlays/menu.tsx';
import type { MenuAction } from '../overlays/menu-popup.tsx';
import styles from './sidebar.module.css';
import { useShellOrganization } from './use-organization.tsx';

// Loaded when an operator opens it.
const OrganizationFinder = loadedLater(() =>
  import('./organization-finder.tsx').then((module) => module.OrganizationFinder),
);

interface SwitcherProps extends ComponentProps<'button'> {
  readonly what: string;
  readonly name: string;
  readonly detail: string | undefined;
  readonly round?: boolean;
}

/** A button that opens a menu of the sidebar and shows the current choice. */
export function Switcher({ what, name, detail, round = false, ...button }: SwitcherProps): ReactNode {
  return (
    <button type="button" {...button} className={styles.switcher}>
      <span className={classNames(styles.mark, round && styles.round)} aria-hidden="true">
        {[...name][0]?.toUpperCase()}
      </span>
      <span className={styles.names}>
        <span className="visually-hidden">{what}</span>
        <span className={styles.name}>{name}</span>
        {detail && <span className={styles.detail}>{detail}</span>}
      </span>
      <Icon name="sort" />
    </button>
  );
}

const ROLE_LABELS = { operator: 'Operator', owner: 'Owner', member: 'Member' } as const;

/** The user's organizations. Operators find others by name. */
export function OrganizationSwitcher(): ReactNode {
  const organization = useShellOrganization();
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
          <Switcher
            what="Organization"
            name={name}
            detail={organization && (organization.suspended ? 'Suspended' : ROLE_LABELS[organization.role])}
          />
        }
      />
      {finding && <OrganizationFinder onClose={() => setFinding(false)} onFound={open} />}
    </>
  );
}

interface OrganizationPickerProps {
  readonly value: string | undefined;
  readonly onChange: (id: string) => void;
  /** Shown if none is chosen. */
  readonly placeholder: string;
}

/** Chooses one of all organizations, for operators. Works with or without a Field. */
export function OrganizationPicker({ value, onChange, placeholder }: OrganizationPickerProps): ReactNode {
  const { attributes } = useFieldControl();
  const [finding, setFinding] = useState(false);
  const params = { organization: value ?? '' };
  const chosen = useAsk('GET /api/organizations/:organization', { params }, { enabled: value !== undefined });
  const name = value === undefined ? placeholder : (chosen.data?.name ?? value);
  return (
    <>
      <Button
        {...(attributes.id !== undefined && { id: attributes.id })}
        aria-label={`Organization: ${name}`}
        aria-describedby={attributes['aria-describedby']}
        aria-haspopup="dialog"
        icon="organizations"
        onClick={() => setFinding(true)}
      >
        {name}
      </Button>
      {finding && <OrganizationFinder onClose={() => setFinding(false)} onFound={onChange} />}
    </>
  );
}
