import { type KeyboardEvent, type ReactNode, useId, useRef, useState } from 'react';
import styles from './code-snippet.module.css';
import { CopyButton } from './copy-button.tsx';

export interface Snippet {
  readonly label: string;
  readonly code: string;
}

export interface CodeSnippetProps {
  readonly snippets: readonly Snippet[];
  readonly onCopied?: () => void;
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
