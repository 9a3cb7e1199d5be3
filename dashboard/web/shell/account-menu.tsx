import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useSession } from '../api/session.ts';
import { useSend } from '../api/use-send.ts';
import { Icon } from '../components/icon.tsx';
import { chooseTheme, useTheme } from '../components/theme.ts';
import { useToast } from '../components/toast.tsx';
import { Menu } from '../overlays/menu.tsx';
import styles from './sidebar.module.css';

export function AccountMenu(): ReactNode {
  const { user } = useSession();
  const theme = useTheme();
  const navigate = useNavigate();
  const client = useQueryClient();
  const toast = useToast();
  const signOut = useSend('DELETE /api/session', {
    changes: [],
    onDone: () => void navigate({ to: '/sign-in' }).then(() => client.clear()),
  });
  return (
    <Menu
      align="start"
      fitTrigger
      groups={[
        {
          heading: 'Theme',
          actions: [
            {
              label: 'As the system',
              icon: 'device',
              chosen: theme === 'system',
              onSelect: () => chooseTheme('system'),
            },
            { label: 'Light', icon: 'sun', chosen: theme === 'light', onSelect: () => chooseTheme('light') },
            { label: 'Dark', icon: 'moon', chosen: theme === 'dark', onSelect: () => chooseTheme('dark') },
          ],
        },
        {
          actions: [
            { label: 'Account', icon: 'account', onSelect: () => void navigate({ to: '/account' }) },
            {
              label: 'Sign out',
              icon: 'signOut',
              onSelect: () =>
                signOut.mutate({}, { onError: (problem) => toast({ tone: 'bad', text: problem.message }) }),
            },
          ],
        },
      ]}
      trigger={
        <button type="button" className={styles.switcher}>
          <span className={`${styles.mark} ${styles.round}`} aria-hidden="true">
            {user.email.slice(0, 1).toUpperCase()}
          </span>
          <span className={styles.names}>
            <span className="visually-hidden">Account</span>
            <span className={styles.name}>{user.email}</span>
            {user.isOperator && <span className={styles.detail}>Operator</span>}
          </span>
          <Icon name="sort" />
        </button>
      }
    />
  );
}
