import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { PasswordLinkView, SessionView } from '#contract/session.ts';
import type { ApiProblem } from '../../api/api.ts';
import { ask, send } from '../../api/api.ts';
import { useSend } from '../../api/queries.ts';
import { startSession, useSignInMethods } from '../../api/session.ts';
import { LinkButton } from '../../components/button.tsx';
import { EmptyState, Loaded, Skeleton } from '../../components/panels.tsx';
import { formatInstant } from '../../format/format.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { Form } from '../../forms/form.tsx';
import { CurrentPasswordField, HiddenEmail, NewPasswordField } from '../../forms/inputs.tsx';
import { SingleSignOn } from '../../forms/single-sign-on.tsx';
import { FrontDoor } from '../../shell/front-door.tsx';

let taken: string | undefined;

/** Page of a one-time link, which sets a password or joins an organization. */
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
            <AcceptInvitation token={token} link={found} onEntered={enter} />
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
      <Gone />
    </FrontDoor>
  );
}

/** Also for a user whose link was used, although the response of the server was lost. */
function Gone(): ReactNode {
  return (
    <div role="alert">
      <EmptyState
        icon="lock"
        title="It was already used or has expired"
        action={<LinkButton to="/sign-in">Sign in</LinkButton>}
      >
        If you used it yourself, sign in. Otherwise open the link exactly as you received it, or ask for a new one.
      </EmptyState>
    </div>
  );
}

interface LinkProps {
  readonly token: string;
  readonly link: PasswordLinkView;
  readonly onEntered: (session: SessionView) => void;
}

function SignInByLink({ token, link, onEntered }: LinkProps): ReactNode {
  const use = useSend('POST /api/sign-in-links/use', { changesNothing: true, onDone: onEntered });
  return (
    <Form onSubmit={() => use.mutate({ body: { token } })} sending={use} submit="Sign in">
      <p>
        As <strong>{link.email}</strong>. The link works once, until {formatInstant(link.expiresAtMs)}.
      </p>
    </Form>
  );
}

function PasswordForm({ token, link, onEntered }: LinkProps): ReactNode {
  const [password, setPassword] = useState('');
  const use = useSend('POST /api/password-links/use', { changesNothing: true, onDone: onEntered });
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
  if (use.error?.problem === 'link_used_or_expired') return <Gone />;
  return (
    <Form onSubmit={() => use.mutate({ body: { token, password } })} sending={use} submit="Set password and sign in">
      <p>
        For <strong>{link.email}</strong>. The link works once, until {formatInstant(link.expiresAtMs)}.
      </p>
      <HiddenEmail email={link.email} />
      <NewPasswordField value={password} onChange={setPassword} error={use.error?.fields.password} />
    </Form>
  );
}

/**
 * Returns the token of `/link#TOKEN`. Fragments are never sent, so the token is in no log and no
 * referrer. It is removed from the address immediately, so that it is neither in the history nor on
 * the screen. After a reload the link is needed again.
 */
function takeLinkToken(): string {
  const token = decodeURIComponent(location.hash.slice(1));
  if (token !== '') history.replaceState(history.state, '', location.pathname);
  return token;
}

const ACCOUNTS = { new: 'New account', known: 'Existing account' } as const;
type Account = keyof typeof ACCOUNTS;

/** Joins with a new account, with an existing one's password, or as the signed-in user. */
function AcceptInvitation(props: LinkProps): ReactNode {
  const { token, link } = props;
  const session = useQuery({
    queryKey: ['session behind link'],
    queryFn: () => ask('GET /api/session', {}),
    retry: false,
  });
  const { password: hasPasswords, issuer } = useSignInMethods();
  if (session.isPending) return null;
  const isSignedIn = session.data?.user.email === link.email;
  return (
    <>
      <p>
        For <strong>{link.email}</strong>, to join <strong>{link.organization}</strong> as{' '}
        {link.role === 'owner' ? 'an owner' : 'a member'}. The link works once, until {formatInstant(link.expiresAtMs)}.
      </p>
      {isSignedIn ? (
        <AcceptSignedIn {...props} />
      ) : (
        <>
          {issuer !== undefined && (
            <SingleSignOn issuer={issuer} linkToken={token} tone={hasPasswords ? 'neutral' : 'primary'} />
          )}
          {hasPasswords && <AcceptWithPassword {...props} />}
        </>
      )}
    </>
  );
}

function AcceptSignedIn({ token, onEntered }: LinkProps): ReactNode {
  const accept = useSend('POST /api/invitations/acceptance', { changesNothing: true, onDone: onEntered });
  return <Form onSubmit={() => accept.mutate({ body: { token } })} sending={accept} submit="Join" />;
}

function AcceptWithPassword({ token, link, onEntered }: LinkProps): ReactNode {
  const [account, setAccount] = useState<Account>('new');
  const [password, setPassword] = useState('');
  const use = useSend('POST /api/password-links/use', { changesNothing: true, onDone: onEntered });
  const choose = (next: Account) => {
    setAccount(next);
    setPassword('');
    use.reset();
  };
  const submit = () =>
    use.mutate(
      { body: { token, password } },
      // The address turned out to have an account with another password.
      { onError: ({ problem }) => problem === 'wrong_password' && setAccount('known') },
    );
  if (use.error?.problem === 'link_used_or_expired') return <Gone />;
  const error = use.error?.fields.password;
  return (
    <Form onSubmit={submit} sending={use} submit={account === 'new' ? 'Set password and sign in' : 'Sign in and join'}>
      <SegmentedControl label="Account" value={account} onChange={choose} choices={ACCOUNTS} />
      <HiddenEmail email={link.email} />
      {account === 'new' ? (
        <NewPasswordField value={password} onChange={setPassword} error={error} />
      ) : (
        <CurrentPasswordField error={error} value={password} onChange={setPassword} />
      )}
    </Form>
  );
}
