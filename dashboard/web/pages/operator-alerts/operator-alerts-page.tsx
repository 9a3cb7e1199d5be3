import type { ReactNode } from 'react';
import { useAsk } from '../../api/use-ask.ts';
import { Card } from '../../components/card.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { UnlessFailed } from '../../components/states.tsx';
import { DeliveriesTable } from '../../organizations/deliveries-table.tsx';
import { TestAlertsButton } from '../../organizations/test-alerts-button.tsx';

const REFRESH_MS = 5_000;

export function OperatorAlertsPage(): ReactNode {
  const alerts = useAsk('GET /api/alerts', {}, { refreshMs: REFRESH_MS });
  return (
    <>
      <PageHeader
        title="Alerts"
        description="A provider out of funds, losses, dead letters, charges that wait in a spool, differences from the model catalogue, and service tiers without a price."
      />
      <UnlessFailed query={alerts}>
        <Card title="Receivers">
          <p>
            {alerts.data === undefined || alerts.data.receivers.length > 0 ? (
              alerts.data?.receivers.join(', ')
            ) : (
              <>
                None: set <code>mail.operators</code> in the configuration.
              </>
            )}
          </p>
        </Card>
        <Card title="Deliveries" actions={<TestAlertsButton hasReceiver={(alerts.data?.receivers ?? []).length > 0} />}>
          <DeliveriesTable deliveries={alerts.data?.deliveries} />
        </Card>
      </UnlessFailed>
    </>
  );
}
