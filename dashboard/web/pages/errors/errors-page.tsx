import { useLocation } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { classNames } from '../../components/class-names.ts';
import { EmptyState, PageHeader } from '../../components/panels.tsx';
import { Badge } from '../../components/values.tsx';
import { type ErrorAdvice, findErrors, readableMessage } from '../../errors/error-advice.ts';
import { FilterBar, SearchBox } from '../../forms/filter-bar.tsx';
import { useUrl } from '../../search/use-url.ts';
import { errorsSearch } from '../searches.ts';
import styles from './errors.module.css';

/** All errors of the API. `/errors#key_revoked` links to one of them. */
export function ErrorsPage(): ReactNode {
  const url = useUrl(errorsSearch);
  const { search } = url.search;
  const hash = useLocation({ select: (location) => location.hash });
  const groups = findErrors(search ?? '');
  useEffect(() => {
    if (hash !== '') document.getElementById(hash)?.scrollIntoView({ block: 'start' });
  }, [hash]);
  return (
    <>
      <PageHeader
        title="Error codes"
        help="errors.html"
        description="Every API error has a message, type, code, param and metadata. Handle errors by code or type."
      />
      <FilterBar url={url}>
        <SearchBox label="Code, status or words" value={search} onSearch={(text) => url.change({ search: text })} />
      </FilterBar>
      {groups.length === 0 && (
        <EmptyState icon="search" title="No matching error">
          Search for a code such as rpm_exceeded, a status, or words of the message.
        </EmptyState>
      )}
      {groups.map(({ status, title, errors }) => (
        <section key={status} className="section" aria-labelledby={`status-${status}`}>
          <h2 id={`status-${status}`}>
            {status} <span className="muted">{title}</span>
          </h2>
          <div className={styles.errors}>
            {errors.map((error) => (
              <ErrorEntry key={error.code} error={error} chosen={error.code === hash} />
            ))}
          </div>
        </section>
      ))}
    </>
  );
}

function ErrorEntry({ error, chosen }: { readonly error: ErrorAdvice; readonly chosen: boolean }): ReactNode {
  const { code, entry, retry, billed } = error;
  return (
    <article id={code} className={classNames(styles.error, chosen && styles.chosen)}>
      <header className="row">
        <h3>
          <a className={styles.code} href={`#${code}`}>
            <code>{code}</code>
          </a>
        </h3>
        <Badge>{entry.type}</Badge>
      </header>
      <p>{readableMessage(entry) ?? 'The message says what is wrong.'}</p>
      <dl className={styles.facts}>
        <dt>What to do</dt>
        <dd>{entry.advice}</dd>
        <dt>Retry</dt>
        <dd>{retry}</dd>
        <dt>Billed</dt>
        <dd>{billed}</dd>
        {entry.param !== undefined && (
          <>
            <dt>Field</dt>
            <dd>
              <code>{entry.param}</code>
            </dd>
          </>
        )}
      </dl>
    </article>
  );
}
