import { useQueryClient } from '@tanstack/react-query';
import { getRouteApi, useRouter } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { SessionView } from '#contract/session.ts';
import { startSession } from '../../api/session.ts';
import { useSignedInElsewhere, useSignInMethods } from '../../api/sign-in-methods.ts';
import { useSend } from '../../api/use-send.ts';
import { Button } from '../../components/button.tsx';
import { Field } from '../../forms/field.tsx';
import { Form } from '../../forms/form.tsx';
import { PasswordInput } from '../../forms/password-input.tsx';
import { SingleSignOn } from '../../forms/single-sign-on.tsx';
import { TextInput } from '../../forms/text-input.tsx';
import { FrontDoor } from '../../shell/front-door.tsx';
import { backAddress } from './back-address.ts';

const route = getRouteApi('/sign-in');

export function SignInPage(): ReactNode {
  const { back } = route.useSearch();
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const client = useQueryClient();
  const router = useRouter();
  const enter = (session: SessionView) => {
    startSession(client, session);
    router.history.push(backAddress(back));
  };
  const signIn = useSend('POST /api/session', { changes: [], onDone: enter });
  useSignedInElsewhere(enter);
  const { password: hasPasswords, issuer } = useSignInMethods();
  return (
    <FrontDoor title="Sign in">
      {issuer !== undefined && (
        <SingleSignOn issuer={issuer} back={back} {...(hasPasswords ? {} : { tone: 'primary' as const })} />
      )}
      {hasPasswords && (
        <Form onSubmit={() => signIn.mutate({ body: { email: email.trim(), password } })} problem={signIn.error}>
          <Field label="Email" error={signIn.error?.fields.email} required>
            <TextInput type="email" name="email" value={email} onChange={setEmail} autoComplete="username" autoFocus />
          </Field>
          <Field
            label="Password"
            error={signIn.error?.fields.password}
            hint="Forgotten? The operator of this gateway can give you a link to set a new one."
            required
          >
            <PasswordInput value={password} onChange={setPassword} autoComplete="current-password" />
          </Field>
          <Button type="submit" tone="primary" busy={signIn.isPending}>
            Sign in
          </Button>
        </Form>
      )}
    </FrontDoor>
  );
}
