import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { LIST_RANGES } from '#contract/explore-search.ts';
import type { LedgerEntryView } from '#contract/money.ts';
import { useAskPages } from '../../api/queries.ts';
import { EmptyState } from '../../components/panels.tsx';
import { Detailed, Instant, StatusPill } from '../../components/values.tsx';
import { TimeChoice } from '../../explore/time-choice.tsx';
import { formatMoneyInFull } from '../../format/format.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { FilterBar } from '../../forms/filter-bar.tsx';
import { type Url, useBounds } from '../../search/use-url.ts';
import { CsvLink, List } from '../../table/list-page.tsx';
import { type Column, figureColumn } from '../../table/table.tsx';
import type { CreditsState } from '../searches.ts';
import { entryTitle, signedAmount } from './ledger-entry.ts';

const REFRESH_MS = 15_000;

export function Ledger({ url }: { readonly url: Url<CreditsState> }): ReactNode {
  const { search, change } = url;
  const { kind } = search;
  const query = { kind, ...useBounds(search) };
  const pages = useAskPages('GET /api/organizations/:organization/ledger', { query }, 'before', {
    refreshMs: REFRESH_MS,
  });
  return (
    <>
      <FilterBar url={url} actions={<CsvLink table="ledger" query={query} />}>
        <SegmentedControl
          label="Kind"
          value={kind ?? 'all'}
          onChange={(next) => change({ kind: next === 'all' ? undefined : next })}
          choices={{ all: 'All', credit: 'Credits', charge: 'Charges' }}
        />
        <TimeChoice url={url} ranges={LIST_RANGES} usual="all" />
      </FilterBar>
      <List
        query={pages}
        nouns={['entry', 'entries']}
        caption="Ledger"
        columns={COLUMNS}
        rows={pages.data?.pages.flatMap(({ entries }) => entries)}
        rowKey={({ sequence }) => String(sequence)}
        skeletonRows={12}
        empty={
          url.isFiltered ? (
            <EmptyState icon="credits" title="No matching entries">
              Choose another time or kind.
            </EmptyState>
          ) : (
            <EmptyState icon="credits" title="No entries yet">
              Credits and the charge for each request appear here.
            </EmptyState>
          )
        }
      />
    </>
  );
}

const TONES = { Charge: 'neutral', Credit: 'good', Correction: 'warn' } as const;

const COLUMNS: readonly Column<LedgerEntryView>[] = [
  { header: 'Time', cell: ({ atMs }) => <Instant atMs={atMs} />, width: '190px' },
  {
    header: 'Kind',
    cell: (entry) => <StatusPill tone={TONES[entryTitle(entry)]}>{entryTitle(entry)}</StatusPill>,
    width: '120px',
  },
  { header: 'About', cell: (entry) => <About entry={entry} /> },
  figureColumn('Amount', ({ amountNanoUsd }) => (
    <span className={BigInt(amountNanoUsd) > 0n ? 'good' : undefined}>{signedAmount(amountNanoUsd)}</span>
  )),
  figureColumn('Balance after', ({ balanceNanoUsd }) => formatMoneyInFull(balanceNanoUsd)),
];

/** A charge's request, or a credit's note and actor. */
function About({ entry }: { readonly entry: LedgerEntryView }): ReactNode {
  const { generationId, model, keyName, note, reference, actor } = entry;
  if (generationId !== undefined) {
    return (
      <span className="stack">
        <span className="clip">{[model, keyName].filter((part) => part !== undefined).join(' · ')}</span>
        <Link
          from="/o/$organization"
          to="/o/$organization/requests"
          search={{ search: generationId }}
          className="muted small"
        >
          <code>{generationId}</code>
        </Link>
      </span>
    );
  }
  const booked = reference === undefined ? `by ${actor}` : `Reference ${reference} · by ${actor}`;
  return <Detailed detail={booked}>{note ?? 'No note'}</Detailed>;
}
