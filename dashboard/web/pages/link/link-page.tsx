import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { PasswordLinkView, SessionView } from '#contract/session.ts';
import { send } from '../../api/api.ts';
import type { ApiProblem } from '../../api/problem.ts';
import { startSession } from '../../api/session.ts';
import { useSignInMethods } from '../../api/sign-in-methods.ts';
import { useSend } from '../../api/use-send.ts';
import { Button, LinkButton } from '../../components/button.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { formatInstant } from '../../format/format-instant.ts';
import { Form } from '../../forms/form.tsx';
import { HiddenEmail, NewPasswordField } from '../../forms/password-input.tsx';
import { SingleSignOn } from '../../forms/single-sign-on.tsx';
import { FrontDoor } from '../../shell/front-door.tsx';
import { AcceptInvitation } from './accept-invitation.tsx';

let taken: string | undefined;

/** Page of a one-time link: sets a password, or joins an organization. */
export function LinkPage(): ReactNode {
  // A second render must not lose the token.
  const [token] = useState(() => {
    taken = takeLinkToken() || taken;
    return taken ?? '';
  });
  const link = useQuery<PasswordLinkView, ApiProblem>({
    queryKey: ['link', token],
    queryFn: () => send('POST /api/password-links/inspection', { body: { token } }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const client = useQueryClient();
  const navigate = useNavigate();
  const enter = (session: SessionView) => {
    taken = undefined;
    startSession(client, session);
    void navigate({ to: session.invitations === undefined ? '/' : '/account' });
  };
  if (token === '' || link.error?.problem === 'link_used_or_expired' || link.error?.problem === 'invalid')
    return <LinkGone />;
  return (
    <FrontDoor title={titleOf(link.data)}>
      <Loaded query={link} skeleton={<Skeleton height="210px" />}>
        {(found) =>
          found.purpose === 'sign_in' ? (
            <SignInByLink token={token} link={found} onEntered={enter} />
          ) : found.organization === undefined ? (
            <PasswordForm token={token} link={found} onEntered={enter} />
          ) : (
            <AcceptInvitation token={token} link={found} onJoined={enter} />
          )
        }
      </Loaded>
    </FrontDoor>
  );
}

function titleOf(link: PasswordLinkView | undefined): string {
  if (link?.organization !== undefined) return `Join ${link.organization}`;
  if (link?.purpose === 'sign_in') return 'Sign in';
  return link?.purpose === 'reset' ? 'Set a new password' : 'Set your password';
}

function LinkGone(): ReactNode {
  return (
    <FrontDoor title="This link does not work">
      <EmptyState
        icon="lock"
        title="It was used before, or has expired"
        action={<LinkButton to="/sign-in">Sign in</LinkButton>}
      >
        Open it exactly as you received it, or ask for a new one.
      </EmptyState>
    </FrontDoor>
  );
}

function SignInByLink({ token, link, onEntered }: PasswordFormProps): ReactNode {
  const use = useSend('POST /api/sign-in-links/use', { changes: [], onDone: onEntered });
  return (
    <Form onSubmit={() => use.mutate({ body: { token } })} problem={use.error}>
      <p>
        As <strong>{link.email}</strong>. The link works once, until {formatInstant(link.expiresAtMs)}.
      </p>
      <Button type="submit" tone="primary" busy={use.isPending}>
        Sign in
      </Button>
    </Form>
  );
}

interface PasswordFormProps {
  readonly token: string;
  readonly link: PasswordLinkView;
  readonly onEntered: (session: SessionView) => void;
}

function PasswordForm({ token, link, onEntered }: PasswordFormProps): ReactNode {
  const [password, setPassword] = useState('');
  const use = useSend('POST /api/password-links/use', { changes: [], onDone: onEntered });
  const { password: hasPasswords, issuer } = useSignInMethods();
  if (!hasPasswords && issuer !== undefined) {
    return (
      <>
        <p>
          For <strong>{link.email}</strong>. Passwords are off here: no link is needed.
        </p>
        <SingleSignOn issuer={issuer} tone="primary" />
      </>
    );
  }
  if (use.error?.problem === 'link_used_or_expired') return <p role="alert">{use.error.message}</p>;
  return (
    <Form onSubmit={() => use.mutate({ body: { token, password } })} problem={use.error}>
      <p>
        For <strong>{link.email}</strong>. The link works once, until {formatInstant(link.expiresAtMs)}.
      </p>
      <HiddenEmail email={link.email} />
      <NewPasswordField value={password} onChange={setPassword} error={use.error?.fields.password} />
      <Button type="submit" tone="primary" busy={use.isPending}>
        Set password and sign in
      </Button>
    </Form>
  );
}

/**
 * The token of `/link#TOKEN`. Fragments are never sent, so no log and no referrer has it. It is
 * removed from the address at once, so that neither history nor screen shows it; a reload then
 * needs the link again.
 */
export function takeLinkToken(): string {
  const token = decodeURIComponent(location.hash.slice(1));
  if (token !== '') history.replaceState(history.state, '', location.pathname);
  return token;
}
