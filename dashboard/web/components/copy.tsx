import { type KeyboardEvent, type ReactNode, useEffect, useId, useRef, useState } from 'react';
import { Button, IconButton } from './button.tsx';
import styles from './copy.module.css';
import { useToast } from './toast.tsx';

interface CopyButtonProps {
  readonly text: string;
  /** Name of the copied thing: `key`, `request id`. */
  readonly what: string;
  /** True for a text next to the icon. */
  readonly wide?: boolean;
  readonly onCopied?: (text: string) => void;
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
        onCopied?.(text);
      } else toast({ tone: 'bad', text: `The browser refused to copy the ${what}. Select and copy it by hand.` });
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

/** A text that is shown only once, with a copy button. */
export function CopyBox(props: Pick<CopyButtonProps, 'text' | 'what' | 'onCopied'>): ReactNode {
  return (
    <div className={styles.box} data-copy-box>
      <code>{props.text}</code>
      <CopyButton {...props} wide />
    </div>
  );
}

/** Copies a text, by selection where the clipboard API is missing (no HTTPS or loopback). */
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
  // Inserted next to the focused element, because an open dialog traps the focus.
  const parent = document.activeElement?.parentElement ?? document.body;
  const focused = document.activeElement;
  parent.append(box);
  box.select();
  const done = document.execCommand('copy');
  box.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return done;
}

export interface Snippet {
  readonly label: string;
  readonly code: string;
}

interface CodeSnippetProps {
  readonly snippets: readonly Snippet[];
  readonly onCopied?: (text: string) => void;
}

/** The same example in several languages, each with a copy button. */
export function CodeSnippet({ snippets, onCopied }: CodeSnippetProps): ReactNode {
  const id = useId();
  const [chosen, setChosen] = useState(0);
  const tabs = useRef<HTMLDivElement>(null);
  const snippet = snippets[chosen] ?? snippets[0];
  if (!snippet) return null;

  const move = (event: KeyboardEvent) => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = (chosen + step + snippets.length) % snippets.length;
    setChosen(next);
    tabs.current?.querySelectorAll('button')[next]?.focus();
  };

  return (
    <div className={styles.snippet}>
      <div className={styles.head}>
        <div ref={tabs} role="tablist" aria-label="Language" className={styles.tabs} onKeyDown={move}>
          {snippets.map(({ label }, index) => (
            <button
              key={label}
              type="button"
              role="tab"
              id={`${id}-tab-${index}`}
              aria-selected={index === chosen}
              aria-controls={`${id}-panel`}
              tabIndex={index === chosen ? 0 : -1}
              className={styles.tab}
              onClick={() => setChosen(index)}
            >
              {label}
            </button>
          ))}
        </div>
        <CopyButton text={snippet.code} what={`${snippet.label} example`} {...(onCopied && { onCopied })} />
      </div>
      <pre
        className={styles.code}
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-tab-${chosen}`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
      >
        {snippet.code}
      </pre>
    </div>
  );
}
