import { type ReactNode, useState } from 'react';
import type { AlertSettingsInput } from '#contract/alerts.ts';
import { useAsk } from '../../api/use-ask.ts';
import { Card } from '../../components/card.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { Loaded } from '../../components/states.tsx';
import { DeliveriesTable } from '../../organizations/deliveries-table.tsx';
import { TestAlertsButton } from '../../organizations/test-alerts-button.tsx';
import { useOrganization } from '../../shell/use-organization.ts';
import { AlertsForm } from './alerts-form.tsx';
import { SecretDialog } from './secret-dialog.tsx';

const REFRESH_MS = 5_000;

export function AlertsPage(): ReactNode {
  const { id } = useOrganization();
  return (
    <>
      <PageHeader title="Alerts" description="Messages before a balance, a budget or a key ends." />
      {/* The key remounts for another organization, whose values its form starts with. */}
      <AlertsOf key={id} organization={id} />
    </>
  );
}

function AlertsOf({ organization }: { readonly organization: string }): ReactNode {
  const params = { organization };
  const alerts = useAsk('GET /api/organizations/:organization/alerts', { params }, { refreshMs: REFRESH_MS });
  const [secret, setSecret] = useState<string>();
  return (
    <>
      <Loaded query={alerts} skeleton={<Skeleton height="420px" />}>
        {({ settings, sendsMail }) => (
          <AlertsForm organization={organization} initial={settings} sendsMail={sendsMail} onSecret={setSecret} />
        )}
      </Loaded>
      <Card
        title="Deliveries"
        actions={<TestAlertsButton organization={organization} hasReceiver={hasReceiver(alerts.data?.settings)} />}
      >
        <DeliveriesTable deliveries={alerts.data?.deliveries} />
      </Card>
      {secret !== undefined && <SecretDialog secret={secret} onClose={() => setSecret(undefined)} />}
    </>
  );
}

function hasReceiver(settings: AlertSettingsInput | undefined): boolean {
  return settings !== undefined && (settings.emails.length > 0 || settings.webhookUrl !== undefined);
}
