import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { adviceFor, readableMessage } from '../errors/error-advice.ts';
import styles from './requests.module.css';

/** What the code that is filtered for means. */
export function CodeNote({ code }: { readonly code: string }): ReactNode {
  const advice = adviceFor(code);
  if (advice === undefined) return null;
  const saysItself = advice.entry.message !== '{problem}';
  return (
    <p className={styles.note}>
      <code>{code}</code>: {saysItself && `${readableMessage(advice.entry)} `}
      {advice.entry.advice}{' '}
      <Link to="/errors" hash={code}>
        More about this error
      </Link>
    </p>
  );
}
