import type { ReactNode } from 'react';
import type { PendingInvitation } from '../../../contract/session.ts';
import { Card } from '../../components/card.tsx';
import { Instant } from '../../components/instant.tsx';

/** Pending invitations elsewhere. Joining takes the link: an address alone proves nothing. */
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
