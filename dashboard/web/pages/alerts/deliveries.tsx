import { type ReactNode, useState } from 'react';
import type { DeliveryView, WebhookKind } from '#contract/alerts.ts';
import { countOf } from '#core/count-of.ts';
import { useSend } from '../../api/queries.ts';
import { Button } from '../../components/button.tsx';
import { CopyBox } from '../../components/copy.tsx';
import { Card, EmptyState } from '../../components/panels.tsx';
import { useFailureToast, useToast } from '../../components/toast.tsx';
import { Instant, StatusPill } from '../../components/values.tsx';
import { Dialog } from '../../overlays/dialog.tsx';
import { type Column, Table } from '../../table/table.tsx';

interface DeliveriesProps {
  readonly of: 'organization' | 'operators';
  /** Absent while loading. */
  readonly deliveries: readonly DeliveryView[] | undefined;
  readonly hasReceiver: boolean;
}

export function Deliveries({ of, deliveries, hasReceiver }: DeliveriesProps): ReactNode {
  const [openId, setOpenId] = useState<string>();
  const open = deliveries?.find(({ messageId }) => messageId === openId);
  return (
    <Card title="Deliveries" actions={<TestAlertsButton of={of} hasReceiver={hasReceiver} />}>
      {open && <DeliveryDrawer delivery={open} of={of} onClose={() => setOpenId(undefined)} />}
      <Table
        caption="Deliveries"
        columns={COLUMNS}
        rows={deliveries}
        rowKey={({ messageId }) => messageId}
        onOpen={({ messageId }) => setOpenId(messageId)}
        skeletonRows={4}
        empty={
          <EmptyState icon="requests" title="Nothing sent yet">
            Sent messages and delivery attempts appear here.
          </EmptyState>
        }
      />
    </Card>
  );
}

interface DeliveryDrawerProps extends Pick<DeliveriesProps, 'of'> {
  readonly delivery: DeliveryView;
  readonly onClose: () => void;
}

/** A message with its attempts. Alerts of an organization can be sent again. */
function DeliveryDrawer({ delivery, of, onClose }: DeliveryDrawerProps): ReactNode {
  const { kind, body, state, messageId } = delivery;
  const toast = useToast();
  const again = useSend('POST /api/organizations/:organization/alerts/again', {
    onDone: () => toast({ tone: 'good', text: 'The message is being sent again.' }),
    onFailed: useFailureToast(),
  });
  const isOver = state !== 'waiting' && kind !== 'invitation';
  const send = of === 'organization' && isOver && (
    <Button busy={again.isPending} onClick={() => again.mutate({ body: { messageId } })}>
      Send again
    </Button>
  );
  return (
    <Dialog asDrawer onClose={onClose} title={deliveryTitle(kind)} footer={send}>
      <State of={delivery} />
      {body === undefined ? (
        <p className="muted">The link in this mail is made when the mail is sent, and is not shown here.</p>
      ) : (
        <CopyBox text={readable(body)} what="message" />
      )}
      <Attempts of={delivery} />
    </Dialog>
  );
}

/** JSON with each member on its own line. */
function readable(body: string): string {
  return body.startsWith('{') ? JSON.stringify(JSON.parse(body), null, 2) : body;
}

const COLUMNS: readonly Column<DeliveryView>[] = [
  { header: 'Time', cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} />, width: '190px' },
  { header: 'Message', cell: ({ kind }) => deliveryTitle(kind) },
  {
    header: 'To',
    cell: ({ channel, receiver }) => (channel === 'mail' ? receiver : WEBHOOK_KINDS[channel]),
  },
  { header: 'State', cell: (delivery) => <State of={delivery} />, width: '120px' },
  { header: 'Attempts', cell: (delivery) => <Attempts of={delivery} /> },
];

function State({ of: { state } }: { readonly of: DeliveryView }): ReactNode {
  const { tone, word } = STATES[state];
  return <StatusPill tone={tone}>{word}</StatusPill>;
}

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
          Next <Instant atMs={nextAttemptAtMs} show="due" />
        </li>
      )}
    </ul>
  );
}

const TESTS = {
  organization: 'POST /api/organizations/:organization/alerts/test',
  operators: 'POST /api/alerts/test',
} as const;

function TestAlertsButton({ of, hasReceiver }: Omit<DeliveriesProps, 'deliveries'>): ReactNode {
  const toast = useToast();
  const onDone = ({ messages }: { readonly messages: number }) =>
    messages === 0
      ? toast({
          tone: 'bad',
          text: 'Nothing was sent: there was a test within the last minute, or too many messages are waiting.',
        })
      : toast({ tone: 'good', text: `A test is on its way to ${countOf(messages, 'receiver')}.` });
  const test = useSend(TESTS[of], { onDone, onFailed: useFailureToast() });
  return (
    <Button disabled={!hasReceiver || test.isPending} onClick={() => test.mutate({})}>
      Send a test
    </Button>
  );
}

const WEBHOOK_KINDS: Readonly<Record<WebhookKind, string>> = { webhook: 'Webhook', slack: 'Slack' };

const STATES = {
  waiting: { tone: 'warn', word: 'Waiting' },
  delivered: { tone: 'good', word: 'Delivered' },
  failed: { tone: 'bad', word: 'Failed' },
  dropped: { tone: 'neutral', word: 'Not sent' },
} as const satisfies Record<DeliveryView['state'], object>;

const TITLES: Readonly<Record<string, string>> = {
  test: 'Test',
  'balance.low': 'Low balance',
  'key.budget': 'Key budget',
  'key.expires': 'Key expires',
  'top_up.failed': 'Failed top-up',
  invitation: 'Invitation',
  account: 'Link to a new account',
  reset: 'Link to a new password',
  forgotten: 'Forgotten password',
  'provider.out_of_funds': 'Provider out of funds',
  'ledger.losses': 'Losses',
  'ledger.dead_letters': 'Dead letters',
  'payments.no_event': 'Payments without event',
  'models.check': 'Model catalogue differences',
  'models.unknown_tier': 'Service tier without price',
  'spool.waiting': 'Delayed charges',
};

/** Kinds of a newer release are shown by their own name. */
function deliveryTitle(kind: string): string {
  return TITLES[kind] ?? kind;
}
