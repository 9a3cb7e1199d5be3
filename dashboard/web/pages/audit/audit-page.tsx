import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { LIST_RANGES } from '#contract/explore-search.ts';
import type { AuditEventView } from '#contract/people.ts';
import { useAskPages } from '../../api/queries.ts';
import {
  ACTIONS,
  actionChoice,
  actionLabel,
  type ChangedValue,
  changeLines,
  isOfOrganization,
} from '../../audit/audit-labels.ts';
import { EmptyState } from '../../components/panels.tsx';
import { Detailed, Instant } from '../../components/values.tsx';
import { TimeChoice } from '../../explore/time-choice.tsx';
import { OptionalSelect } from '../../forms/choices.tsx';
import { SearchBox } from '../../forms/filter-bar.tsx';
import { type Url, useBounds, useUrl } from '../../search/use-url.ts';
import { OrganizationPicker } from '../../shell/organization-switcher.tsx';
import { CsvLink, ListPage, type ListPageProps } from '../../table/list-page.tsx';
import type { Column } from '../../table/table.tsx';
import { type AuditState, auditSearch, operatorAuditSearch } from '../searches.ts';
import styles from './audit.module.css';

export function AuditPage(): ReactNode {
  const url = useUrl(auditSearch);
  const { actor, action } = url.search;
  const query = { actor, action, ...useBounds(url.search) };
  const pages = useAskPages('GET /api/organizations/:organization/audit', { query }, 'before', { keepPrevious: true });
  return (
    <ListPage
      {...LIST}
      description="Who changed what, when and from where."
      besideFilters={<CsvLink table="audit" query={query} />}
      url={url}
      filters={<AuditFilters url={url} choices={CHOICES.filter(({ value }) => isOfOrganization(value))} />}
      query={pages}
      columns={[ACTION, CHANGES, ...BY]}
      rows={pages.data?.pages.flatMap(({ events }) => events)}
    />
  );
}

export function OperatorAuditPage(): ReactNode {
  const url = useUrl(operatorAuditSearch);
  const { organization, actor, action } = url.search;
  const query = { organization, actor, action, ...useBounds(url.search) };
  const pages = useAskPages('GET /api/audit', { query }, 'before', { keepPrevious: true });
  const picker = (
    <OrganizationPicker
      value={organization}
      onChange={(id) => url.change({ organization: id })}
      placeholder="All organizations"
    />
  );
  return (
    <ListPage
      {...LIST}
      description="Who changed what, in all organizations and for all users."
      besideFilters={<CsvLink table="audit" query={query} />}
      url={url}
      filters={<AuditFilters url={url} choices={CHOICES} more={picker} />}
      query={pages}
      columns={[ACTION, CHANGES, ORGANIZATION, ...BY]}
      rows={pages.data?.pages.flatMap(({ events }) => events)}
    />
  );
}

const LIST = {
  title: 'Audit log',
  caption: 'Audit log, newest first',
  nouns: ['event', 'events'],
  more: 'Load older',
  skeletonRows: 12,
  empty: (
    <EmptyState icon="audit" title="No changes yet">
      Every change to keys, limits, members and money appears here, with who made it and the previous values.
    </EmptyState>
  ),
} as const satisfies Partial<ListPageProps<AuditEventView>>;

const CHOICES = ACTIONS.map(actionChoice).toSorted((a, b) => a.label.localeCompare(b.label, 'en'));

interface AuditFiltersProps {
  readonly url: Url<AuditState>;
  readonly choices: typeof CHOICES;
  readonly more?: ReactNode;
}

function AuditFilters({ url, choices, more }: AuditFiltersProps): ReactNode {
  const { search, change } = url;
  return (
    <>
      <SearchBox label="Search by user" value={search.actor} onSearch={(actor) => change({ actor })} />
      <OptionalSelect
        label="Action"
        none="All actions"
        value={search.action}
        onChange={(action) => change({ action })}
        choices={choices}
      />
      {more}
      <TimeChoice url={url} ranges={LIST_RANGES} usual="all" />
    </>
  );
}

const ACTION: Column<AuditEventView> = {
  header: 'What',
  width: '27%',
  cell: (event) => {
    const { before, name, after } = actionLabel(event);
    return (
      <span className={styles.action}>
        {before}
        {name !== undefined && <strong>{name}</strong>}
        {after}
      </span>
    );
  },
};

const CHANGES: Column<AuditEventView> = {
  header: 'Changes',
  width: '27%',
  cell: (event) => <Changes of={event} />,
};

const ORGANIZATION: Column<AuditEventView> = {
  header: 'Organization',
  hideBelow: 'wide',
  cell: ({ organizationId, organizationName }) =>
    organizationId === undefined ? null : (
      <Link className={styles.organization} to="/o/$organization/overview" params={{ organization: organizationId }}>
        {organizationName ?? organizationId}
      </Link>
    ),
};

/** The actor of payments, which have neither a person nor an address. */
const STRIPE = 'Stripe';

const BY: readonly Column<AuditEventView>[] = [
  {
    header: 'Who',
    cell: ({ actor, address }) => (
      <Detailed detail={actor !== STRIPE && (address === undefined ? 'command line' : `from ${address}`)}>
        {actor}
      </Detailed>
    ),
  },
  { header: 'When', cell: ({ atMs }) => <Instant atMs={atMs} show="short" /> },
];

function Changes({ of: event }: { readonly of: AuditEventView }): ReactNode {
  const lines = changeLines(event);
  if (lines.length === 0) return null;
  return (
    <ul className="stack small">
      {lines.map(({ field, label, before, after }) => (
        <li key={field}>
          <span className="muted">{label}:</span>{' '}
          {before && (
            <>
              <span className="muted">
                <Value of={before} />
              </span>
              <span aria-hidden="true"> → </span>
              <span className="visually-hidden"> now </span>
            </>
          )}
          <Value of={after} />
        </li>
      ))}
    </ul>
  );
}

function Value({ of: value }: { readonly of: ChangedValue }): ReactNode {
  if (value.kind === 'instant') return <Instant atMs={value.atMs} show="short" />;
  return value.kind === 'none' ? <span className="muted">{value.text}</span> : value.text;
}
