import type { ReactNode } from 'react';
import type { PendingInvitation } from '#contract/session.ts';
import { useSession } from '../../api/session.ts';
import { useSignInMethods } from '../../api/sign-in-methods.ts';
import { Card } from '../../components/card.tsx';
import { Instant } from '../../components/figures.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { chooseTheme, useTheme } from '../../components/theme.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { SingleSignOn } from '../../forms/single-sign-on.tsx';
import { ChangePassword } from './change-password.tsx';
import { Devices } from './devices.tsx';

export function AccountPage(): ReactNode {
  const { user, invitations, signedInBy } = useSession();
  const { password: hasPasswords, issuer } = useSignInMethods();
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
      {issuer !== undefined && signedInBy !== 'issuer' && (
        <Card title="Single sign-on">
          <p>Prove once that you are {user.email} at the identity provider, and sign in there from then on.</p>
          <div>
            <SingleSignOn issuer={issuer} back="/account" label={`Connect ${issuer}`} />
          </div>
        </Card>
      )}
      {hasPasswords && signedInBy === 'password' && <ChangePassword />}
      <Devices />
    </>
  );
}

/** Pending invitations. Joining needs the link: an address alone proves nothing. */
export function PendingInvitations({ invitations }: { readonly invitations: readonly PendingInvitation[] }): ReactNode {
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
      <p>To join, open the link that you get from the person who invited you.</p>
    </Card>
  );
}
