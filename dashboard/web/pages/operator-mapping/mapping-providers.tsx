import type { ReactNode } from 'react';
import type { ProviderView } from '#contract/operator.ts';
import { StatusPill } from '../../components/badge.tsx';
import { Instant } from '../../components/figures.tsx';
import { EmptyState } from '../../components/states.tsx';
import { type Column, Table } from '../../table/table.tsx';
import styles from './mapping.module.css';
import { failureLabel, healthOf } from './provider-health.ts';

/** Absent while loading. */
export function MappingProviders({
  providers,
}: {
  readonly providers: readonly ProviderView[] | undefined;
}): ReactNode {
  return (
    <Table
      caption="Providers"
      columns={COLUMNS}
      rows={providers}
      rowKey={({ name }) => name}
      skeletonRows={2}
      empty={
        <EmptyState icon="mapping" title="The configuration has no providers">
          Declare them under providers in the file.
        </EmptyState>
      }
    />
  );
}

const COLUMNS: readonly Column<ProviderView>[] = [
  {
    id: 'provider',
    header: 'Provider',
    cell: ({ name, host }) => (
      <div className={styles.stack}>
        <strong className={styles.name}>{name}</strong>
        <span className="muted">{host}</span>
      </div>
    ),
  },
  {
    id: 'key',
    header: 'API key',
    // Also `Sent` if the named key is missing: a banner reports that.
    cell: ({ hasKey }) => (hasKey ? 'Sent' : <span className="muted">Not sent</span>),
  },
  {
    id: 'health',
    header: 'Last 5 minutes',
    cell: (provider) => {
      const { tone, state, detail } = healthOf(provider);
      return (
        <div className={styles.stack}>
          <StatusPill tone={tone}>{state}</StatusPill>
          <span className={styles.detail}>{detail}</span>
        </div>
      );
    },
  },
  {
    id: 'failure',
    header: 'Last failure',
    cell: ({ lastFailure }) =>
      lastFailure === undefined ? (
        <span className="muted">None</span>
      ) : (
        <div className={styles.stack}>
          <span>{failureLabel(lastFailure.result)}</span>
          <span className={styles.detail}>
            <Instant atMs={lastFailure.atMs} show="relative" />
          </span>
        </div>
      ),
  },
  {
    id: 'disconnect',
    header: 'When a client leaves',
    hideBelow: 'medium',
    cell: ({ onDisconnect }) =>
      onDisconnect === 'drain' ? 'Reads to the end' : onDisconnect === 'abort' ? 'Stops' : 'As the model has it',
  },
];
