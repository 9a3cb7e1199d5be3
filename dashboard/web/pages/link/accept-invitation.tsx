import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { PasswordLinkView, SessionView } from '#contract/session.ts';
import { ask } from '../../api/api.ts';
import { useSignInMethods } from '../../api/sign-in-methods.ts';
import { useSend } from '../../api/use-send.ts';
import { Button } from '../../components/button.tsx';
import { formatInstant } from '../../format/format-instant.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { Field } from '../../forms/field.tsx';
import { Form } from '../../forms/form.tsx';
import { HiddenEmail, NewPasswordField, PasswordInput } from '../../forms/password-input.tsx';
import { SingleSignOn } from '../../forms/single-sign-on.tsx';

export interface AcceptInvitationProps {
  readonly token: string;
  readonly link: PasswordLinkView;
  readonly onJoined: (session: SessionView) => void;
}

const ACCOUNTS = [
  { value: 'new', label: 'I am new here' },
  { value: 'known', label: 'I have an account' },
] as const;
type Account = (typeof ACCOUNTS)[number]['value'];

/**
 * Joins an organization: with a new account, with the password of an existing one, or as the
 * signed-in user.
 */
export function AcceptInvitation({ token, link, onJoined }: AcceptInvitationProps): ReactNode {
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
        <AcceptSignedIn token={token} onJoined={onJoined} />
      ) : (
        <>
          {issuer !== undefined && (
            <SingleSignOn issuer={issuer} linkToken={token} {...(hasPasswords ? {} : { tone: 'primary' as const })} />
          )}
          {hasPasswords && <AcceptWithPassword token={token} link={link} onJoined={onJoined} />}
        </>
      )}
    </>
  );
}

function AcceptSignedIn({ token, onJoined }: Omit<AcceptInvitationProps, 'link'>): ReactNode {
  const accept = useSend('POST /api/invitations/acceptance', { changes: [], onDone: onJoined });
  return (
    <Form onSubmit={() => accept.mutate({ body: { token } })} problem={accept.error}>
      <Button type="submit" tone="primary" busy={accept.isPending}>
        Join
      </Button>
    </Form>
  );
}

function AcceptWithPassword({ token, link, onJoined }: AcceptInvitationProps): ReactNode {
  const [account, setAccount] = useState<Account>('new');
  const [password, setPassword] = useState('');
  const use = useSend('POST /api/password-links/use', { changes: [], onDone: onJoined });
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
  const error = use.error?.fields.password;
  return (
    <Form onSubmit={submit} problem={use.error}>
      <SegmentedControl label="Account" value={account} onChange={choose} choices={ACCOUNTS} />
      <HiddenEmail email={link.email} />
      {account === 'new' ? (
        <NewPasswordField value={password} onChange={setPassword} error={error} />
      ) : (
        <Field label="Password" error={error} required>
          <PasswordInput value={password} onChange={setPassword} autoComplete="current-password" />
        </Field>
      )}
      <Button type="submit" tone="primary" busy={use.isPending}>
        {account === 'new' ? 'Set password and sign in' : 'Sign in and join'}
      </Button>
    </Form>
  );
}
