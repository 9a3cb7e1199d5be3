import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useRouter } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import type { SessionView } from '#contract/session.ts';
import type { ApiProblem } from '../../api/api.ts';
import { send } from '../../api/api.ts';
import { useSend } from '../../api/queries.ts';
import { startSession, takeLuggage, useSignedInElsewhere, useSignInMethods } from '../../api/session.ts';
import { LinkButton } from '../../components/button.tsx';
import { Banner, Skeleton } from '../../components/panels.tsx';
import { fieldsOf } from '../../forms/field.tsx';
import { Form } from '../../forms/form.tsx';
import { AccountEmailField, CurrentPasswordField } from '../../forms/inputs.tsx';
import { SingleSignOn } from '../../forms/single-sign-on.tsx';
import { FrontDoor } from '../../shell/front-door.tsx';
import { backAddress } from './back-address.ts';

const route = getRouteApi('/sign-in');

export function SignInPage(): ReactNode {
  const { back } = route.useSearch();
  const [draft, setDraft] = useState({ email: '', password: '' });
  const client = useQueryClient();
  const router = useRouter();
  const enter = (session: SessionView) => {
    startSession(client, session);
    router.history.push(backAddress(back));
  };
  const signIn = useSend('POST /api/session', { changesNothing: true, onDone: enter });
  const field = fieldsOf(draft, setDraft, signIn.error?.fields);
  useSignedInElsewhere(enter);
  const { password: hasPasswords, issuer, resetsByMail } = useSignInMethods();
  return (
    <FrontDoor title="Sign in">
      {issuer !== undefined && <SingleSignOn issuer={issuer} back={back} tone={hasPasswords ? 'neutral' : 'primary'} />}
      {hasPasswords && (
        <Form
          onSubmit={() => signIn.mutate({ body: { ...draft, email: draft.email.trim() } })}
          sending={signIn}
          submit="Sign in"
        >
          <AccountEmailField {...field('email')} autoFocus />
          <CurrentPasswordField
            hint={
              resetsByMail ? (
                <Link to="/forgotten-password">Forgot password?</Link>
              ) : (
                'Forgotten? The operator of this gateway can give you a link to set a new one.'
              )
            }
            {...field('password')}
          />
        </Form>
      )}
    </FrontDoor>
  );
}

/** Requests a mail with a link. The reply is the same whether or not there is an account. */
export function ForgottenPasswordPage(): ReactNode {
  const [email, setEmail] = useState('');
  const ask = useSend('POST /api/password-resets', { changesNothing: true });
  return (
    <FrontDoor title="Forgot password">
      {ask.isSuccess ? (
        <p role="status">
          If <strong>{email.trim()}</strong> has an account with a password here, a link to set a new one is on its way.
          It works for 30 minutes.
        </p>
      ) : (
        <Form onSubmit={() => ask.mutate({ body: { email: email.trim() } })} sending={ask} submit="Send link">
          <AccountEmailField value={email} onChange={setEmail} error={ask.error?.fields.email} autoFocus />
        </Form>
      )}
      <LinkButton to="/sign-in">Back to sign-in</LinkButton>
    </FrontDoor>
  );
}

/** Page to which the issuer redirects the browser. */
export function CallbackPage(): ReactNode {
  const client = useQueryClient();
  const router = useRouter();
  const { data, error } = useQuery<SessionView, ApiProblem>({
    queryKey: ['response of the issuer'],
    queryFn: () => send('POST /api/oidc/session', { body: { query: takeResponse() } }),
    // A response can be used for only one sign-in.
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  useEffect(() => {
    if (data === undefined) return;
    const { back, linkToken } = takeLuggage();
    startSession(client, data);
    router.history.replace(linkToken === undefined ? backAddress(back) : `/link#${encodeURIComponent(linkToken)}`);
  }, [data, client, router]);
  if (error === null) {
    return (
      <FrontDoor title="Signing in">
        <Skeleton height="120px" />
      </FrontDoor>
    );
  }
  return (
    <FrontDoor title="Not signed in">
      <Banner tone="bad">{error.message}</Banner>
      <LinkButton to="/sign-in">Back to sign-in</LinkButton>
    </FrontDoor>
  );
}

let response: string | undefined;

/** Takes the query out of the address: its code must not be in the history or on the screen. */
function takeResponse(): string {
  if (location.search !== '') response = location.search.slice(1);
  history.replaceState(history.state, '', location.pathname);
  return response ?? '';
}
