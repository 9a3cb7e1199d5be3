import { type ReactNode, useEffect, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import styles from './copy-button.module.css';
import { useToast } from './toast.tsx';

export interface CopyButtonProps {
  readonly text: string;
  /** What is copied: `key`, `request id`. */
  readonly what: string;
  /** With words, not the icon alone. */
  readonly wide?: boolean;
  readonly onCopied?: () => void;
}

const SHOWN_MS = 2000;

export function CopyButton({ text, what, wide = false, onCopied }: CopyButtonProps): ReactNode {
  const [copied, setCopied] = useState(false);
  const toast = useToast();
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [copied]);

  const copy = () =>
    void copyText(text).then((done) => {
      if (done) {
        setCopied(true);
        onCopied?.();
      } else toast({ tone: 'bad', text: `The browser did not let the ${what} be copied. Select and copy it by hand.` });
    });
  const icon = copied ? 'check' : 'copy';
  return (
    <>
      {wide ? (
        <Button icon={icon} onClick={copy}>
          {copied ? 'Copied' : `Copy ${what}`}
        </Button>
      ) : (
        <IconButton icon={icon} label={`Copy ${what}`} onClick={copy} />
      )}
      <span className="visually-hidden" role="status">
        {copied && `Copied ${what}`}
      </span>
    </>
  );
}

/** A text that is shown once, with a button that copies it. */
export function CopyBox(props: Pick<CopyButtonProps, 'text' | 'what' | 'onCopied'>): ReactNode {
  return (
    <div className={styles.box}>
      <code>{props.text}</code>
      <CopyButton {...props} wide />
    </div>
  );
}

/** The clipboard's interface exists on HTTPS and loopback only; a dashboard inside a network may have neither. */
async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const box = document.createElement('textarea');
  box.value = text;
  box.className = 'visually-hidden';
  // Inside an open dialog the focus may not leave it.
  const parent = document.activeElement?.parentElement ?? document.body;
  const focused = document.activeElement;
  parent.append(box);
  box.select();
  const done = document.execCommand('copy');
  box.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}
