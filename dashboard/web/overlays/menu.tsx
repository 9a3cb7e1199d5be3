import { cloneElement, type KeyboardEvent, lazy, type ReactNode, Suspense, useEffect, useState } from 'react';
import type { MenuProps } from './menu-popup.tsx';

const PRELOAD_AFTER_MS = 1000;

const load = () => import('./menu-popup.tsx');
const MenuPopup = lazy(() => load().then((module) => ({ default: module.MenuPopup })));

/**
 * A button that opens a list of actions. A table has one in each row. The popup's code is a quarter
 * of the page, so it is loaded after the page, and the popup is mounted when it first opens.
 */
export function Menu(props: MenuProps): ReactNode {
  const [opened, setOpened] = useState(false);
  useEffect(() => {
    // A timer, because Safari has no idle callback.
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
