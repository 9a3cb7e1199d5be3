import { Outlet, useLocation } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import { useConnectionLost } from '../api/connection.ts';
import { useSession } from '../api/session.ts';
import { IconButton, LinkButton } from '../components/button.tsx';
import { Banner } from '../components/panels.tsx';
import styles from './shell.module.css';
import { Sidebar } from './sidebar.tsx';

// For narrow windows only, so the overview does not wait for it.
const SidebarDrawer = lazy(() => import('./sidebar-drawer.tsx').then((module) => ({ default: module.SidebarDrawer })));

/** Frame of every page after the sign-in. */
export function Shell(): ReactNode {
  const [open, setOpen] = useState(false);
  const lost = useConnectionLost();
  const { untrustedProxy, choosePassword } = useSession();
  const path = useLocation({ select: (location) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: whoever chose a page wants to see it
  useEffect(() => setOpen(false), [path]);
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#content">
        Skip to content
      </a>
      <header className={styles.topbar}>
        <IconButton icon="menu" label="Open navigation" onClick={() => setOpen(true)} />
        <span className={styles.product}>Inference Gateway</span>
      </header>
      <aside className={styles.sidebar}>
        <Sidebar />
      </aside>
      {open && (
        <Suspense>
          <SidebarDrawer onClose={() => setOpen(false)} />
        </Suspense>
      )}
      <main id="content" tabIndex={-1} className={styles.content}>
        {lost && (
          <Banner tone="warn" title="Connection lost">
            The page may be out of date. It continues by itself when the server can be reached again.
          </Banner>
        )}
        {untrustedProxy !== undefined && (
          <Banner tone="warn" title="A proxy is not trusted">
            Requests come through <code>{untrustedProxy}</code>. If that is your proxy, name it in{' '}
            <code>trusted_proxies</code> of the configuration: until then everybody behind it has the same address here.
          </Banner>
        )}
        {choosePassword && (
          <Banner
            tone="warn"
            title="Choose a password of your own"
            action={<LinkButton to="/account">Choose</LinkButton>}
          >
            The person who made yours on the command line knows it.
          </Banner>
        )}
        <Outlet />
      </main>
    </div>
  );
}
