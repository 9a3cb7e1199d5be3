import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { LIST_RANGES } from '#contract/explore-search.ts';
import type { AuditEventView } from '#contract/people.ts';
import { useAskPages, useOrganizationOfPage } from '../../api/queries.ts';
import {
  ACTIONS,
  actionChoice,
  actionLabel,
  type ChangedValue,
  changeLines,
  isOfOrganization,
} from '../../audit/audit-labels.ts';
import { EmptyState } from '../../components/panels.tsx';
import { Address, Detailed, Instant } from '../../components/values.tsx';
import { TimeChoice } from '../../explore/time-choice.tsx';
import { OptionalSelect } from '../../forms/choices.tsx';
import { SearchBox } from '../../forms/filter-bar.tsx';
import { type Url, useBounds, useUrl } from '../../search/use-url.ts';
import { OrganizationPicker } from '../../shell/organization-switcher.tsx';
import { CsvLink, ListPage } from '../../table/list-page.tsx';
import type { Column } from '../../table/table.tsx';
import { type AuditState, auditSearch, operatorAuditSearch } from '../searches.ts';
import styles from './audit.module.css';

/** The log of the page's organization, or for operators of all organizations and users. */
export function AuditPage(): ReactNode {
  const isOfAll = useOrganizationOfPage() === undefined;
  const url = useUrl(isOfAll ? operatorAuditSearch : auditSearch);
  const { organization, actor, action } = url.search;
  const query = { organization, actor, action, ...useBounds(url.search) };
  const path = isOfAll ? 'GET /api/audit' : 'GET /api/organizations/:organization/audit';
  const pages = useAskPages(path, { query }, 'before', { keepPrevious: true });
  return (
    <ListPage
      title="Audit log"
      description={
        isOfAll ? 'Who changed what, in all organizations and for all users.' : 'Who changed what, when and from where.'
      }
      url={url}
      filters={<AuditFilters url={url} isOfAll={isOfAll} />}
      besideFilters={<CsvLink table="audit" query={query} />}
      query={pages}
      nouns={['event', 'events']}
      more="Load older"
      caption="Audit log, newest first"
      columns={[ACTION, CHANGES, ...(isOfAll ? [ORGANIZATION] : []), ...BY]}
      rows={pages.data?.pages.flatMap(({ events }) => events)}
      skeletonRows={12}
      empty={
        <EmptyState icon="audit" title="No changes yet">
          Every change to keys, limits, members and money appears here, with who made it and the previous values.
        </EmptyState>
      }
    />
  );
}

const CHOICES = ACTIONS.map(actionChoice).toSorted((a, b) => a.label.localeCompare(b.label, 'en'));

interface AuditFiltersProps {
  readonly url: Url<AuditState>;
  readonly isOfAll: boolean;
}

function AuditFilters({ url: { search, change }, isOfAll }: AuditFiltersProps): ReactNode {
  return (
    <>
      <SearchBox label="Search by user" value={search.actor} onSearch={(actor) => change({ actor })} />
      <OptionalSelect
        label="Action"
        none="All actions"
        value={search.action}
        onChange={(action) => change({ action })}
        choices={CHOICES.filter(({ value }) => isOfAll || isOfOrganization(value))}
      />
      {isOfAll && (
        <OrganizationPicker
          value={search.organization}
          onChange={(organization) => change({ organization })}
          placeholder="All organizations"
        />
      )}
      <TimeChoice url={{ search, change }} ranges={LIST_RANGES} usual="all" />
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
  width: '16%',
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
    width: '19%',
    cell: ({ actor, address }) => (
      <Detailed
        detail={
          actor !== STRIPE &&
          (address === undefined ? (
            'command line'
          ) : (
            <>
              from <Address of={address} />
            </>
          ))
        }
      >
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
  if (value.kind === 'none') return <span className="muted">{value.text}</span>;
  // Keeps its direction, or a change between two Hebrew names would read as the opposite one.
  return <bdi data-hint={value.hint}>{value.text}</bdi>;
}
