import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { Banner } from '../../components/banner.tsx';
import { AboutError } from '../../errors/about-error.tsx';
import { adviceFor, readableMessage } from '../../errors/error-advice.ts';
import styles from './requests.module.css';

/** Explains the error code. The message of the request is not stored. */
export function RequestError({ code }: { readonly code: string }): ReactNode {
  const advice = adviceFor(code);
  if (advice === undefined) return null;
  return (
    <section className={styles.advice} aria-label="About this error">
      <Banner tone="neutral">{readableMessage(advice.entry)}</Banner>
      <AboutError code={code} />
    </section>
  );
}

/** Explains the code of the filter. */
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
