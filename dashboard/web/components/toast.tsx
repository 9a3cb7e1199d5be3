import { createContext, type ReactNode, useCallback, useContext, useRef, useState } from 'react';
import { IconButton } from './button.tsx';
import { classNames } from './class-names.ts';
import { Icon } from './icon.tsx';
import styles from './toast.module.css';

export interface ToastMessage {
  readonly tone: 'good' | 'bad';
  readonly text: string;
}

const SHOWN_MS = 6000;
const MAX_SHOWN = 3;

const ToastContext = createContext<(message: ToastMessage) => void>(() => {});

/** `toast({ tone: 'good', text: 'Key revoked' })`. Use a Banner for what must not be missed. */
export function useToast(): (message: ToastMessage) => void {
  return useContext(ToastContext);
}

/** Reports why a request failed that was sent by a button without a form. */
export function useFailureToast(): (problem: Error) => void {
  const toast = useToast();
  return ({ message }) => toast({ tone: 'bad', text: message });
}

/** Closes an overlay and reports its success: `finish('Key revoked')`. */
export function useFinish(onClose: () => void): (text: string) => void {
  const toast = useToast();
  return (text) => {
    toast({ tone: 'good', text });
    onClose();
  };
}

export function ToastProvider({ children }: { readonly children: ReactNode }): ReactNode {
  const [shown, setShown] = useState<readonly (ToastMessage & { readonly id: number })[]>([]);
  const nextId = useRef(0);
  const drop = useCallback((id: number) => setShown((all) => all.filter((message) => message.id !== id)), []);
  const add = useCallback(
    (message: ToastMessage) => {
      const id = nextId.current++;
      setShown((all) => [...all, { ...message, id }].slice(-MAX_SHOWN));
      setTimeout(() => drop(id), SHOWN_MS);
    },
    [drop],
  );
  return (
    <ToastContext value={add}>
      {children}
      <div className={styles.region} role="status" aria-live="polite">
        {shown.map(({ id, tone, text }) => (
          <div key={id} className={styles.toast}>
            <Icon name={tone === 'good' ? 'check' : 'errors'} className={classNames(styles.icon, tone)} />
            <span className={styles.text}>{text}</span>
            <IconButton icon="close" label="Close message" onClick={() => drop(id)} />
          </div>
        ))}
      </div>
    </ToastContext>
  );
}
