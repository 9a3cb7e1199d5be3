import type { ReactNode } from 'react';
import { useSession } from '../../api/session.ts';
import { Card } from '../../components/card.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { chooseTheme, useTheme } from '../../components/theme.ts';
import { SegmentedControl } from '../../forms/radio-group.tsx';
import { ChangePassword } from './change-password.tsx';
import { Devices } from './devices.tsx';
import { PendingInvitations } from './pending-invitations.tsx';

export function AccountPage(): ReactNode {
  const { user, invitations } = useSession();
  const theme = useTheme();
  return (
    <>
      <PageHeader title="Account" description={`Signed in as ${user.email}.`} />
      {invitations !== undefined && <PendingInvitations invitations={invitations} />}
      <Card title="Appearance">
        <div>
          <SegmentedControl
            label="Theme"
            value={theme}
            onChange={chooseTheme}
            choices={[
              { value: 'system', label: 'As the system' },
              { value: 'light', label: 'Light' },
              { value: 'dark', label: 'Dark' },
            ]}
          />
        </div>
      </Card>
      <ChangePassword />
      <Devices />
    </>
  );
}
