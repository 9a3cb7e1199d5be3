import { Link, type LinkProps, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useSend } from '../api/queries.ts';
import { useLeave, useSession } from '../api/session.ts';
import { Icon, type IconName } from '../components/icon.tsx';
import { LOGO, PRODUCT } from '../components/product.ts';
import { chooseTheme, type Theme, useTheme } from '../components/theme.ts';
import { useFailureToast } from '../components/toast.tsx';
import { Menu } from '../overlays/menu.tsx';
import { OrganizationSwitcher, Switcher } from './organization-switcher.tsx';
import styles from './sidebar.module.css';
import { useShellOrganization } from './use-organization.tsx';

interface Entry {
  readonly label: string;
  readonly icon: IconName;
  readonly to: NonNullable<LinkProps['to']>;
  readonly reloadDocument?: true;
}

const ORGANIZATION_PAGES: readonly Entry[] = [
  { label: 'Overview', icon: 'overview', to: '/o/$organization/overview' },
  { label: 'API keys', icon: 'key', to: '/o/$organization/keys' },
  { label: 'Connect', icon: 'connect', to: '/o/$organization/connect' },
  { label: 'Requests', icon: 'requests', to: '/o/$organization/requests' },
  { label: 'Credits', icon: 'credits', to: '/o/$organization/credits' },
  { label: 'Models', icon: 'models', to: '/o/$organization/models' },
];
const PLAYGROUND: Entry = { label: 'Playground', icon: 'play', to: '/o/$organization/playground' };
const OWNER_PAGES: readonly Entry[] = [
  { label: 'Members', icon: 'members', to: '/o/$organization/members' },
  { label: 'Alerts', icon: 'alerts', to: '/o/$organization/alerts' },
  { label: 'Settings', icon: 'edit', to: '/o/$organization/settings' },
  { label: 'Audit log', icon: 'audit', to: '/o/$organization/audit' },
];
const LIMITS: Entry = { label: 'Limits', icon: 'usage', to: '/o/$organization/settings' };
/** A page without scripts that the build makes from a document (`documents/`). */
const documentation = (label: string, name: string): Entry => ({
  ...{ label, icon: 'info', to: `/docs/${name}.html` as '/$', reloadDocument: true },
});
const HELP_PAGES: readonly Entry[] = [
  { label: 'Error codes', icon: 'errors', to: '/errors' },
  documentation('Documentation', 'clients'),
];
const OPERATOR_PAGES: readonly Entry[] = [
  { label: 'All organizations', icon: 'overview', to: '/operator' },
  { label: 'Organizations', icon: 'organizations', to: '/operator/organizations' },
  { label: 'Users', icon: 'members', to: '/operator/users' },
  { label: 'Costs and margin', icon: 'usage', to: '/operator/costs' },
  { label: 'Model mapping', icon: 'mapping', to: '/operator/mapping' },
  { label: 'System', icon: 'system', to: '/operator/system' },
  { label: 'Alerts', icon: 'alerts', to: '/operator/alerts' },
  { label: 'Audit log', icon: 'audit', to: '/operator/audit' },
  documentation('Operating', 'operating'),
];

interface Section {
  readonly heading?: string;
  readonly entries: readonly Entry[];
}

/** The pages that the user's role may open. The server checks every request on its own. */
export function usePages(): readonly Section[] {
  const { user, playground } = useSession();
  const organization = useShellOrganization();
  const own = [
    ...ORGANIZATION_PAGES,
    ...(playground ? [PLAYGROUND] : []),
    ...(organization?.role === 'member' ? [LIMITS] : OWNER_PAGES),
  ];
  return [
    ...(organization ? [{ entries: own }] : []),
    { entries: HELP_PAGES },
    ...(user.isOperator ? [{ heading: 'Operator', entries: OPERATOR_PAGES }] : []),
  ];
}

export function Sidebar({ onFind }: { readonly onFind: () => void }): ReactNode {
  return (
    <div className={styles.sidebar}>
      <p className={styles.product}>
        <img src={LOGO} alt="" height="20" />
        {PRODUCT}
      </p>
      <OrganizationSwitcher />
      <button type="button" className={styles.find} aria-keyshortcuts="Control+K" onClick={onFind}>
        <Icon name="search" />
        Go to…
        <kbd>Ctrl K</kbd>
      </button>
      <nav className={styles.nav} aria-label="Main">
        {usePages().map((section) => (
          <Entries key={section.entries[0]?.to} {...section} />
        ))}
      </nav>
      <AccountMenu />
    </div>
  );
}

function Entries({ heading, entries }: Section): ReactNode {
  const organization = useShellOrganization()?.id;
  return (
    <div>
      {heading && <h2 className={styles.heading}>{heading}</h2>}
      <ul className={styles.entries}>
        {entries.map(({ label, icon, ...link }) => (
          <li key={link.to}>
            <Link
              className={styles.entry}
              {...link}
              {...(organization !== undefined && link.to.includes('$') && { params: { organization } })}
              activeOptions={{ includeSearch: false, exact: true }}
            >
              <Icon name={icon} />
              {label}
            </Link>
          </li>
        ))}
      </ul>
    </div>
  );
}

function AccountMenu(): ReactNode {
  const { user } = useSession();
  const theme = useTheme();
  const navigate = useNavigate();
  const leave = useLeave();
  const themeAction = (value: Theme, label: string, icon: IconName) => ({
    ...{ label, icon, chosen: theme === value },
    onSelect: () => chooseTheme(value),
  });
  const signOut = useSend('DELETE /api/session', {
    changesNothing: true,
    onFailed: useFailureToast(),
    onDone: ({ signOutUrl }) => leave(signOutUrl),
  });
  return (
    <Menu
      align="start"
      fitTrigger
      groups={[
        {
          heading: 'Theme',
          actions: [
            themeAction('system', 'System', 'device'),
            themeAction('light', 'Light', 'sun'),
            themeAction('dark', 'Dark', 'moon'),
          ],
        },
        {
          actions: [
            { label: 'Account', icon: 'account', onSelect: () => void navigate({ to: '/account' }) },
            { label: 'Sign out', icon: 'signOut', onSelect: () => signOut.mutate({}) },
          ],
        },
      ]}
      trigger={<Switcher what="Account" name={user.email} detail={user.isOperator ? 'Operator' : undefined} round />}
    />
  );
}
