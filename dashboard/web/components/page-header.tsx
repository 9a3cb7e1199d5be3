import { useLocation } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import styles from './page-header.module.css';

export interface PageHeaderProps {
  readonly title: string;
  readonly description?: ReactNode;
  readonly actions?: ReactNode;
}

/** The first page keeps the focus that the browser chose. */
let firstPath: string | undefined;

/**
 * Heading and document title. Takes the focus after each navigation, so that screen readers begin
 * there. One for each page.
 */
export function PageHeader({ title, description, actions }: PageHeaderProps): ReactNode {
  const heading = useRef<HTMLHeadingElement>(null);
  const path = useLocation({ select: (location) => location.pathname });
  useEffect(() => {
    firstPath ??= path;
    if (firstPath === path) return;
    firstPath = '';
    heading.current?.focus();
  }, [path]);
  return (
    <header className={styles.header}>
      <title>{`${title} · Inference Gateway`}</title>
      <div className={styles.words}>
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {description && <p className={styles.description}>{description}</p>}
      </div>
      {actions && <div className={styles.actions}>{actions}</div>}
    </header>
  );
}
