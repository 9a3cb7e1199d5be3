import { cloneElement, type KeyboardEvent, lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import type { MenuProps } from './menu-popup.tsx';

const PRELOAD_AFTER_MS = 1000;

const load = () => import('./menu-popup.tsx');
const MenuPopup = lazy(() => load().then((module) => ({ default: module.MenuPopup })));

/**
 * A button that opens a list of actions. The popup code is a quarter of the page, so it is loaded
 * when the browser is idle and mounted at the first opening: a table has a menu in each row.
 */
export function Menu(props: MenuProps): ReactNode {
  const [opened, setOpened] = useState(false);
  useEffect(() => {
    // Safari has no idle callback.
    const later = setTimeout(() => void load().catch(() => {}), PRELOAD_AFTER_MS);
    return () => clearTimeout(later);
  }, []);
  const closed = cloneElement(props.trigger, {
    'aria-haspopup': 'menu',
    'aria-expanded': false,
    onClick: () => setOpened(true),
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
      event.preventDefault();
      setOpened(true);
    },
  });
  if (!opened) return closed;
  return (
    <Suspense fallback={closed}>
      <MenuPopup {...props} />
    </Suspense>
  );
}
