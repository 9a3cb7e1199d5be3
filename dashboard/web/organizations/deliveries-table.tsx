import type { ReactNode } from 'react';
import type { DeliveryView } from '#contract/alerts.ts';
import { StatusPill } from '../components/badge.tsx';
import { Instant } from '../components/figures.tsx';
import { EmptyState } from '../components/states.tsx';
import { type Column, Table } from '../table/table.tsx';
import styles from './deliveries-table.module.css';
import { deliveryTitle, STATES } from './delivery-labels.ts';

/** Messages with each attempt. Absent while loading. */
export function DeliveriesTable(props: { readonly deliveries: readonly DeliveryView[] | undefined }): ReactNode {
  return (
    <Table
      caption="Deliveries"
      columns={COLUMNS}
      rows={props.deliveries}
      rowKey={({ messageId }) => messageId}
      skeletonRows={4}
      empty={
        <EmptyState icon="requests" title="Nothing was sent yet">
          Messages and each attempt to deliver them appear here.
        </EmptyState>
      }
    />
  );
}

const COLUMNS: readonly Column<DeliveryView>[] = [
  { id: 'time', header: 'Time', cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} />, width: '190px' },
  { id: 'message', header: 'Message', cell: ({ kind }) => deliveryTitle(kind) },
  {
    id: 'to',
    header: 'To',
    cell: ({ channel, receiver }) => (channel === 'mail' ? receiver : 'Webhook'),
  },
  {
    id: 'state',
    header: 'State',
    cell: ({ state }) => <StatusPill tone={STATES[state].tone}>{STATES[state].word}</StatusPill>,
    width: '120px',
  },
  { id: 'attempts', header: 'Attempts', cell: (delivery) => <Attempts of={delivery} /> },
];

function Attempts({ of: { attempts, state, nextAttemptAtMs } }: { readonly of: DeliveryView }): ReactNode {
  const waits = state === 'waiting' && nextAttemptAtMs !== undefined && attempts.at(-1)?.result !== null;
  if (state === 'dropped' && attempts.length === 0) return 'Too many messages were waiting';
  return (
    <ul className={styles.attempts}>
      {attempts.map(({ attempt, beganAtMs, tookMs, result }) => (
        <li key={attempt}>
          <Instant atMs={beganAtMs} show="relative" />: {result ?? 'no result'}
          {tookMs !== null && <span className="muted"> ({tookMs} ms)</span>}
        </li>
      ))}
      {waits && (
        <li className="muted">
          Next <Instant atMs={nextAttemptAtMs} show="relative" />
        </li>
      )}
    </ul>
  );
}
