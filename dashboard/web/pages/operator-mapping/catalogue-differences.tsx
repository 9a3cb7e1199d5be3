import type { ReactNode } from 'react';
import type { CatalogueComparison, CatalogueDifference } from '../../../contract/operator.ts';
import { EmptyState } from '../../components/states.tsx';
import { formatUtcDay } from '../../format/format-instant.ts';
import { type Column, Table } from '../../table/table.tsx';
import { differenceLabel, differenceValue } from './difference-label.ts';
import styles from './mapping.module.css';

/** Absent while loading. */
export function CatalogueDifferences({ of: catalogue }: { readonly of: CatalogueComparison | undefined }): ReactNode {
  const asOf = catalogue && formatUtcDay(catalogue.asOf);
  return (
    <>
      <p className="muted">
        Prices below the provider's, costs that differ, service tiers without a price, limits that are not its own, and
        shutdowns within 60 days
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
