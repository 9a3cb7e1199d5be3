import { type ReactNode, useState } from 'react';
import type { DeviceView, PendingInvitation } from '#contract/session.ts';
import { useAsk, useSend } from '../../api/queries.ts';
import { useLeave, useSession, useSignInMethods } from '../../api/session.ts';
import { IconButton } from '../../components/button.tsx';
import { Card, EmptyState, PageHeader, UnlessFailed } from '../../components/panels.tsx';
import { useFailureToast, useToast } from '../../components/toast.tsx';
import { Badge, Instant } from '../../components/values.tsx';
import { fieldsOf } from '../../forms/field.tsx';
import { Form } from '../../forms/form.tsx';
import { HiddenEmail, NewPasswordField, PasswordField } from '../../forms/inputs.tsx';
import { SingleSignOn } from '../../forms/single-sign-on.tsx';
import { type Column, Table } from '../../table/table.tsx';
import { deviceName } from './device-name.ts';

export function AccountPage(): ReactNode {
  const { user, invitations, signedInBy } = useSession();
  const { issuer } = useSignInMethods();
  return (
    <>
      <PageHeader title="Account" description={`Signed in as ${user.email}.`} />
      {invitations !== undefined && <PendingInvitations invitations={invitations} />}
      {signedInBy === 'password' && <ChangePassword />}
      <Devices />
      {/* Shown last, because it is known later and must not move the others. */}
      {issuer !== undefined && signedInBy !== 'issuer' && (
        <Card title="Single sign-on">
          <p>Sign in at the identity provider once as {user.email}, and use it from then on.</p>
          <div>
            <SingleSignOn issuer={issuer} back="/account" label={`Connect ${issuer}`} />
          </div>
        </Card>
      )}
    </>
  );
}

/** Pending invitations. Joining needs the link, because an address alone proves nothing. */
function PendingInvitations({ invitations }: { readonly invitations: readonly PendingInvitation[] }): ReactNode {
  return (
    <Card title="Invitations">
      <ul>
        {invitations.map(({ organization, role, expiresAtMs }) => (
          <li key={`${organization} ${expiresAtMs}`}>
            <strong>{organization}</strong>, as {role === 'owner' ? 'an owner' : 'a member'}, until{' '}
            <Instant atMs={expiresAtMs} />
          </li>
        ))}
      </ul>
      <p>To join, open the invitation link you received.</p>
    </Card>
  );
}

const EMPTY = { current: '', next: '' };

function ChangePassword(): ReactNode {
  const { user } = useSession();
  const [draft, setDraft] = useState(EMPTY);
  const toast = useToast();
  const change = useSend('PUT /api/password', {
    onDone: () => {
      setDraft(EMPTY);
      toast({ tone: 'good', text: 'Password changed. Every other device was signed out.' });
    },
  });
  const wrong = change.error?.problem === 'wrong_password' && { current: change.error.message };
  const field = fieldsOf(draft, setDraft, { ...wrong, ...change.error?.fields });
  return (
    <Card title="Password">
      <div className="narrow">
        <Form
          onSubmit={() => change.mutate({ body: draft })}
          sending={wrong ? { ...change, error: null } : change}
          submit="Change password"
          tone="neutral"
        >
          <HiddenEmail email={user.email} />
          <PasswordField label="Current password" required {...field('current')} autoComplete="current-password" />
          <NewPasswordField {...field('next')} />
        </Form>
      </div>
    </Card>
  );
}

function Devices(): ReactNode {
  const devices = useAsk('GET /api/devices', {});
  return (
    <Card title="Signed-in devices">
      <UnlessFailed query={devices}>
        <Table
          caption="Signed-in devices"
          columns={COLUMNS}
          rows={devices.data?.devices}
          skeletonRows={2}
          empty={<EmptyState icon="device" title="No signed-in devices" />}
        />
      </UnlessFailed>
    </Card>
  );
}

const COLUMNS: readonly Column<DeviceView>[] = [
  {
    header: 'Device',
    cell: ({ userAgent, current }) => (
      <span data-hint={userAgent}>
        {deviceName(userAgent)} {current && <Badge tone="accent">This device</Badge>}
      </span>
    ),
  },
  { header: 'Address', cell: ({ address }) => <code>{address}</code> },
  { header: 'Signed in', cell: ({ createdAtMs }) => <Instant atMs={createdAtMs} />, hideBelow: 'medium' },
  { header: 'Last seen', cell: ({ lastSeenAtMs }) => <Instant atMs={lastSeenAtMs} show="relative" /> },
  { header: '', label: 'Actions', numeric: true, cell: (device) => <EndSession device={device} /> },
];

function EndSession({ device }: { readonly device: DeviceView }): ReactNode {
  const toast = useToast();
  const leave = useLeave();
  const end = useSend('DELETE /api/devices/:device', {
    changesNothing: device.current,
    onFailed: useFailureToast(),
    onDone: () => {
      if (device.current) leave();
      else toast({ tone: 'good', text: 'Device signed out.' });
    },
  });
  return (
    <IconButton
      icon="signOut"
      disabled={end.isPending}
      label={`Sign out ${deviceName(device.userAgent)}, ${device.address}`}
      onClick={() => end.mutate({ params: { device: device.id } })}
    />
  );
}
