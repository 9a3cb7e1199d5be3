import { Outlet, useLocation } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import { useConnectionLost } from '../api/connection.ts';
import { useSession } from '../api/session.ts';
import { Button, IconButton, LinkButton } from '../components/button.tsx';
import { loadedLater } from '../components/loaded-later.tsx';
import { Banner, TitlePlace } from '../components/panels.tsx';
import { PRODUCT } from '../components/product.ts';
import styles from './shell.module.css';
import { Sidebar } from './sidebar.tsx';
import { useTitlePlace } from './use-organization.tsx';

// Loaded later, because only narrow windows need it.
const SidebarDrawer = loadedLater(() => import('./sidebar-drawer.tsx').then((module) => module.SidebarDrawer));
const Palette = loadedLater(() => import('./palette.tsx').then((module) => module.Palette));
const Shortcuts = loadedLater(() => import('./palette.tsx').then((module) => module.Shortcuts));

export function Shell(): ReactNode {
  const [open, setOpen] = useState<'navigation' | 'palette' | 'shortcuts'>();
  const place = useTitlePlace();
  const lost = useConnectionLost();
  const { untrustedProxy, choosePassword } = useSession();
  const path = useLocation({ select: (location) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a chosen page closes what lies over it.
  useEffect(() => setOpen(undefined), [path]);
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      const what = shortcutOf(event);
      if (what === undefined) return;
      event.preventDefault();
      setOpen(what);
    };
    window.addEventListener('keydown', listen);
    return () => window.removeEventListener('keydown', listen);
  }, []);
  const close = () => setOpen(undefined);
  const find = () => setOpen('palette');
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#content">
        Skip to content
      </a>
      <header className={styles.topbar}>
        <IconButton icon="menu" label="Open navigation" onClick={() => setOpen('navigation')} />
        <span className="product">{PRODUCT}</span>
      </header>
      <aside className={styles.sidebar}>
        <Sidebar onFind={find} />
      </aside>
      {open === 'navigation' && <SidebarDrawer onClose={close} onFind={find} />}
      {open === 'palette' && <PaletteWithText onClose={close} />}
      {open === 'shortcuts' && <Shortcuts onClose={close} />}
      <main id="content" tabIndex={-1} className={styles.content}>
        {lost && (
          <Banner tone="warn" title="Connection lost">
            This page may be out of date. It updates once the server is reachable again.
          </Banner>
        )}
        {untrustedProxy !== undefined && (
          <Banner tone="warn" title="A proxy is not trusted">
            Requests come through <code>{untrustedProxy}</code>. If that is your proxy, name it in{' '}
            <code>trusted_proxies</code> of the configuration: until then everybody behind it has the same address here.
          </Banner>
        )}
        {choosePassword && <ChoosePassword />}
        <TitlePlace value={place}>
          <Outlet />
        </TitlePlace>
      </main>
    </div>
  );
}

/**
 * Takes the keys until the palette is loaded and its box has the focus: they are not for what has
 * it before. A press elsewhere closes it, because the next letters are for another box.
 */
function PaletteWithText({ onClose }: { readonly onClose: () => void }): ReactNode {
  const [text, setText] = useState('');
  useEffect(() => {
    const take = (event: KeyboardEvent) => {
      const isLetter = event.key.length === 1;
      if (!isLetter && event.key !== 'Enter' && event.key !== 'Escape') return;
      if (event.ctrlKey || event.metaKey || event.altKey || document.activeElement?.closest(OPEN_DIALOG)) return;
      event.preventDefault();
      event.stopPropagation();
      if (isLetter) setText((before) => before + event.key);
      if (event.key === 'Escape') onClose();
    };
    const leave = () => {
      if (!document.querySelector(OPEN_DIALOG)) onClose();
    };
    window.addEventListener('keydown', take, { capture: true });
    window.addEventListener('pointerdown', leave, { capture: true });
    return () => {
      window.removeEventListener('keydown', take, { capture: true });
      window.removeEventListener('pointerdown', leave, { capture: true });
    };
  }, [onClose]);
  return <Palette text={text} onText={setText} onClose={onClose} />;
}

/** Stored until the browser is closed. */
const PUT_OFF = 'gateway-password-later';

function ChoosePassword(): ReactNode {
  const [isPutOff, setPutOff] = useState(() => sessionStorage.getItem(PUT_OFF) !== null);
  const putOff = () => {
    sessionStorage.setItem(PUT_OFF, 'yes');
    setPutOff(true);
  };
  if (isPutOff) return null;
  return (
    <Banner
      tone="warn"
      title="Choose a password of your own"
      action={
        <div className="row">
          <Button tone="quiet" onClick={putOff}>
            Later
          </Button>
          <LinkButton to="/account">Choose</LinkButton>
        </div>
      }
    >
      Whoever created your account knows the current one.
    </Banner>
  );
}

/** Closed popovers remain in the document, so they are excluded. */
const OPEN_DIALOG = '[role="dialog"]:not([popover]:not(:popover-open))';

/** Shortcuts work neither while typing nor over a dialog. */
function shortcutOf(event: KeyboardEvent): 'palette' | 'shortcuts' | undefined {
  if (document.querySelector(OPEN_DIALOG)) return undefined;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') return 'palette';
  const types = event.target instanceof Element && event.target.closest('input, select, textarea');
  return event.key === '?' && !types ? 'shortcuts' : undefined;
}
