import type { ReactNode } from 'react';
import type { DeliveryView } from '#contract/alerts.ts';
import { countOf } from '#core/count-of.ts';
import { useSend } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/panels.tsx';
import { useToast } from '../../components/toast.tsx';
import { Instant, StatusPill } from '../../components/values.tsx';
import { type Column, Table } from '../../table/table.tsx';

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
  { header: 'Time', cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} />, width: '190px' },
  { header: 'Message', cell: ({ kind }) => deliveryTitle(kind) },
  {
    header: 'To',
    cell: ({ channel, receiver }) => (channel === 'mail' ? receiver : 'Webhook'),
  },
  {
    header: 'State',
    cell: ({ state }) => <StatusPill tone={STATES[state].tone}>{STATES[state].word}</StatusPill>,
    width: '120px',
  },
  { header: 'Attempts', cell: (delivery) => <Attempts of={delivery} /> },
];

function Attempts({ of: { attempts, state, nextAttemptAtMs } }: { readonly of: DeliveryView }): ReactNode {
  const waits = state === 'waiting' && nextAttemptAtMs !== undefined && attempts.at(-1)?.result !== null;
  if (state === 'dropped' && attempts.length === 0) return 'Too many messages were waiting';
  return (
    <ul>
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

interface TestAlertsButtonProps {
  /** Absent: to the operators. */
  readonly organization?: string;
  readonly hasReceiver: boolean;
}

/** Sends a test to every receiver of alerts. */
export function TestAlertsButton({ organization, hasReceiver }: TestAlertsButtonProps): ReactNode {
  const toast = useToast();
  const onDone = ({ messages }: { readonly messages: number }) =>
    messages === 0
      ? toast({
          tone: 'bad',
          text: 'Nothing is sent: there was a test within the last minute, or too many messages wait.',
        })
      : toast({ tone: 'good', text: `A test is on its way to ${countOf(messages, 'receiver')}.` });
  const onError = (problem: Error) => toast({ tone: 'bad', text: problem.message });
  const ofOrganization = useSend('POST /api/organizations/:organization/alerts/test', { onDone });
  const ofOperators = useSend('POST /api/alerts/test', { onDone });
  return (
    <Button
      disabled={!hasReceiver || ofOrganization.isPending || ofOperators.isPending}
      onClick={() =>
        organization === undefined
          ? ofOperators.mutate({}, { onError })
          : ofOrganization.mutate({ params: { organization } }, { onError })
      }
    >
      Send a test
    </Button>
  );
}

export const STATES = {
  waiting: { tone: 'warn', word: 'Waiting' },
  delivered: { tone: 'good', word: 'Delivered' },
  failed: { tone: 'bad', word: 'Failed' },
  dropped: { tone: 'neutral', word: 'Not sent' },
} as const satisfies Record<DeliveryView['state'], object>;

const TITLES: Readonly<Record<string, string>> = {
  test: 'Test',
  'balance.low': 'Low balance',
  'key.budget': 'Budget of a key',
  'key.expires': 'A key expires',
  'top_up.failed': 'Failed top-up',
  invitation: 'Invitation',
  account: 'Link to a new account',
  reset: 'Link to a new password',
  forgotten: 'Forgotten password',
  'provider.out_of_funds': 'Provider out of funds',
  'ledger.losses': 'Losses',
  'ledger.dead_letters': 'Dead letters',
  'models.check': 'Models differ from the catalogue',
  'models.unknown_tier': 'Service tier without a price',
  'spool.waiting': 'Charges that wait',
};

/** A kind of a newer release is shown as it is. */
function deliveryTitle(kind: string): string {
  return TITLES[kind] ?? kind;
}
