import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { PasswordLinkView } from '../../../contract/session.ts';
import { send } from '../../api/api.ts';
import type { ApiProblem } from '../../api/problem.ts';
import { startSession } from '../../api/session.ts';
import { useSend } from '../../api/use-send.ts';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { Form } from '../../components/form.tsx';
import { LinkButton } from '../../components/link-button.tsx';
import { Loaded } from '../../components/loaded.tsx';
import { NewPasswordField } from '../../components/new-password-field.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { formatInstant } from '../../format/format-instant.ts';
import { FrontDoor } from '../../shell/front-door.tsx';
import { takeLinkToken } from './link-token.ts';

let taken: string | undefined;

/** Sets a password with a link that somebody was handed: an invitation, or a reset. */
export function LinkPage(): ReactNode {
  // Rendering twice must not lose it.
  const [token] = useState(() => {
    taken = takeLinkToken() || taken;
    return taken ?? '';
  });
  const link = useQuery<PasswordLinkView, ApiProblem>({
    queryKey: ['link', token],
    queryFn: () => send('POST /api/password-links/inspection', { body: { token } }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  if (token === '' || link.error?.problem === 'link_used_or_expired' || link.error?.problem === 'invalid')
    return <LinkGone />;
  return (
    <FrontDoor title={link.data?.purpose === 'reset' ? 'Set a new password' : 'Set your password'}>
      <Loaded query={link} skeleton={<Skeleton height="210px" />}>
        {(found) => <PasswordForm token={token} link={found} />}
      </Loaded>
    </FrontDoor>
  );
}

function LinkGone(): ReactNode {
  return (
    <FrontDoor title="This link does not work">
      <EmptyState
        icon="lock"
        title="It was used before, or its time is up"
        action={<LinkButton to="/sign-in">Sign in</LinkButton>}
      >
        Open it exactly as you received it, or ask whoever gave it to you for a new one.
      </EmptyState>
    </FrontDoor>
  );
}

function PasswordForm({ token, link }: { readonly token: string; readonly link: PasswordLinkView }): ReactNode {
  const [password, setPassword] = useState('');
  const client = useQueryClient();
  const navigate = useNavigate();
  const use = useSend('POST /api/password-links/use', {
    changes: [],
    onDone: (session) => {
      taken = undefined;
      startSession(client, session);
      void navigate({ to: '/' });
    },
  });
  if (use.error?.problem === 'link_used_or_expired') return <p role="alert">{use.error.message}</p>;
  return (
    <Form onSubmit={() => use.mutate({ body: { token, password } })} problem={use.error}>
      <p>
        For <strong>{link.email}</strong>. The link works once, until {formatInstant(link.expiresAtMs)}.
      </p>
      {/* So that password managers keep the two together. */}
      <input type="hidden" name="email" autoComplete="username" value={link.email} readOnly />
      <NewPasswordField value={password} onChange={setPassword} error={use.error?.fields.password} />
      <Button type="submit" tone="primary" busy={use.isPending}>
        Set password and sign in
      </Button>
    </Form>
  );
}
