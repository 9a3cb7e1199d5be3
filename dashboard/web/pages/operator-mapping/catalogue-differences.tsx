import type { ReactNode } from 'react';
import type { CatalogueComparison, CatalogueDifference, CatalogueDispute } from '#contract/operator.ts';
import { EmptyState } from '../../components/states.tsx';
import { formatUtcDay } from '../../format/format-instant.ts';
import { type Column, Table } from '../../table/table.tsx';
import { differenceLabel, differenceValue, disputeLabel } from './difference-label.ts';
import styles from './mapping.module.css';

/** Absent while loading. */
export function CatalogueDifferences({ of: catalogue }: { readonly of: CatalogueComparison | undefined }): ReactNode {
  const asOf = catalogue && formatUtcDay(catalogue.asOf);
  return (
    <>
      <p className="muted">
        Prices below the provider's, costs that differ, service tiers and hours without a price, changes of prices
        within 30 days, limits that are not its own, and shutdowns within 60 days
        {asOf === undefined ? '.' : `, as of ${asOf}.`} Prices are for 1M tokens. No price changes by itself.
      </p>
      <Table
        caption="Differences from the model catalogue"
        columns={COLUMNS}
        rows={catalogue?.differences}
        rowKey={(row) => JSON.stringify(row)}
        skeletonRows={2}
        empty={
          <EmptyState icon="check" title="No differences">
            Models that the catalogue does not have are not compared.
          </EmptyState>
        }
      />
      {catalogue !== undefined && catalogue.disputed.length > 0 && (
        <>
          <p className="muted">
            The catalogue has two sources, which disagree about these prices. Compare them with the provider's page.
          </p>
          <Table
            caption="Disputed prices"
            columns={DISPUTES}
            rows={catalogue.disputed}
            rowKey={(row) => JSON.stringify(row)}
            skeletonRows={2}
            empty={null}
          />
        </>
      )}
    </>
  );
}

const COLUMNS: readonly Column<CatalogueDifference>[] = [
  { id: 'model', header: 'Model', cell: ({ model }) => <code>{model}</code> },
  {
    id: 'difference',
    header: 'Difference',
    cell: (row) => {
      const { what, entry } = differenceLabel(row);
      return (
        <div className={styles.stack}>
          <span>{what}</span>
          {entry && <span className={styles.detail}>{entry}</span>}
        </div>
      );
    },
  },
  {
    id: 'configured',
    header: 'Configured',
    numeric: true,
    cell: ({ field, configured }) => differenceValue(field, configured),
  },
  {
    id: 'catalogue',
    header: 'Catalogue',
    numeric: true,
    cell: ({ field, catalogue }) => differenceValue(field, catalogue),
  },
];

const DISPUTES: readonly Column<CatalogueDispute>[] = [
  { id: 'model', header: 'Model', cell: ({ model }) => <code>{model}</code> },
  { id: 'price', header: 'Price', cell: ({ field }) => disputeLabel(field) },
  {
    id: 'catalogue',
    header: 'Catalogue',
    numeric: true,
    cell: ({ field, catalogue }) => differenceValue(field, catalogue),
  },
  { id: 'other', header: 'Other source', numeric: true, cell: ({ field, other }) => differenceValue(field, other) },
];
