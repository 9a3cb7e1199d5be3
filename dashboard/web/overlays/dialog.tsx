import { Dialog as BaseDialog } from '@base-ui/react/dialog';
import { type ReactNode, type RefObject, useRef, useState } from 'react';
import { IconButton } from '../components/button.tsx';
import { classNames } from '../components/class-names.ts';
import styles from './dialog.module.css';

export interface DialogProps {
  readonly open?: boolean;
  readonly onClose: () => void;
  readonly title: string;
  readonly description?: ReactNode;
  readonly size?: 'small' | 'normal' | 'large';
  /** At the right edge with full height, for details next to the list. */
  readonly asDrawer?: boolean;
  /** Escape and clicks outside do not close the dialog, because its content is shown only once. */
  readonly mustAnswer?: boolean;
  readonly initialFocus?: RefObject<HTMLElement | null>;
  /** Gets the focus if the element that opened the dialog no longer exists. */
  readonly finalFocus?: RefObject<HTMLElement | null> | undefined;
  /** Buttons, with the main one last. */
  readonly footer?: ReactNode;
  readonly children?: ReactNode;
}

/**
 * The element that gets the focus first: a field or the button that copies a text, or else a button
 * in the footer, but never the close button. In drawers it is the heading.
 */
const FIRST_CONTROL =
  ':is(input, select, textarea):not(:disabled, header *, [type="hidden"]), [data-copy-box] button, footer button:not(:disabled)';

/** A modal dialog. Closing unmounts it, which resets forms, and returns the focus to its opener. */
export function Dialog(props: DialogProps): ReactNode {
  const { open = true, onClose, title, description, size = 'normal', asDrawer = false, mustAnswer = false } = props;
  const heading = useRef<HTMLHeadingElement>(null);
  const popup = useRef<HTMLDivElement>(null);
  const firstControl = () => popup.current?.querySelector<HTMLElement>(FIRST_CONTROL) ?? heading.current;
  return (
    <BaseDialog.Root
      open={open}
      disablePointerDismissal={mustAnswer}
      onOpenChange={(next, details) => {
        if (next) return;
        if (mustAnswer && details.reason === 'escape-key') return details.cancel();
        onClose();
      }}
    >
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={styles.backdrop} />
        <BaseDialog.Popup
          ref={popup}
          className={classNames(styles.popup, asDrawer ? styles.drawer : styles.box, styles[size])}
          initialFocus={props.initialFocus ?? (asDrawer ? heading : firstControl)}
          {...(props.finalFocus && { finalFocus: props.finalFocus })}
        >
          <header className={styles.head}>
            <div className="fill">
              <BaseDialog.Title ref={heading} tabIndex={-1} className={styles.title}>
                {title}
              </BaseDialog.Title>
              {description && (
                <BaseDialog.Description className={styles.description}>{description}</BaseDialog.Description>
              )}
            </div>
            {!mustAnswer && <IconButton icon="close" label="Close" onClick={onClose} />}
          </header>
          {props.children && <div className={styles.body}>{props.children}</div>}
          {props.footer && <footer className={styles.foot}>{props.footer}</footer>}
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

type Overlay = (onClose: () => void) => ReactNode;
/** Opens an overlay, replacing the one that is open. */
export type OpenOverlay = (overlay: Overlay) => void;

/** Returns the open overlay for the page to show, and a function that opens one. */
export function useOverlay(): readonly [shown: ReactNode, open: OpenOverlay] {
  const [overlay, setOverlay] = useState<Overlay>();
  // A request that ends after its overlay was closed must not close the next one, which may show a
  // secret.
  const close = () => setOverlay((shown: Overlay | undefined) => (shown === overlay ? undefined : shown));
  return [overlay?.(close), (next) => setOverlay(() => next)];
}
