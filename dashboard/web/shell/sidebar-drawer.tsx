import { Dialog } from '@base-ui/react/dialog';
import type { ReactNode } from 'react';
import { IconButton } from '../components/button.tsx';
import dialogStyles from '../overlays/dialog.module.css';
import styles from './sidebar.module.css';
import { Sidebar } from './sidebar.tsx';

export function SidebarDrawer({
  onClose,
  onFind,
}: {
  readonly onClose: () => void;
  readonly onFind: () => void;
}): ReactNode {
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Backdrop className={dialogStyles.backdrop} />
        <Dialog.Popup className={styles.drawer}>
          <Dialog.Title className="visually-hidden">Navigation</Dialog.Title>
          <div className={styles.close}>
            <IconButton icon="close" label="Close navigation" onClick={onClose} />
          </div>
          <Sidebar onFind={onFind} />
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
