import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { resumeSession, useSession } from '../api/session.ts';
import { sessionGoesOn } from '../api/session-end.ts';
import { useSend } from '../api/use-send.ts';
import { Banner } from '../components/banner.tsx';
import { Button } from '../components/button.tsx';
import { Field } from '../forms/field.tsx';
import formStyles from '../forms/form.module.css';
import { PasswordInput } from '../forms/password-input.tsx';
import { TextInput } from '../forms/text-input.tsx';
import { Dialog } from './dialog.tsx';

/** Over a form whose session has ended: what was typed stays where it is, and is kept nowhere else. */
export function SignInAgain(): ReactNode {
  const form = useId();
  const { user } = useSession();
  const [password, setPassword] = useState('');
  const client = useQueryClient();
  const navigate = useNavigate();
  const signIn = useSend('POST /api/session', { changes: [], onDone: (session) => resumeSession(client, session) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    signIn.mutate({ body: { email: user.email, password } });
  };
  const leave = () => {
    sessionGoesOn();
    void navigate({ to: '/sign-in' }).then(() => client.clear());
  };
  return (
    <Dialog
      open
      mustAnswer
      onClose={leave}
      size="small"
      title="Sign in again"
      description="Your session has ended. What you typed is still there."
      footer={
        <>
          <Button onClick={leave}>Discard the form</Button>
          <Button type="submit" form={form} tone="primary" busy={signIn.isPending}>
            Sign in
          </Button>
        </>
      }
    >
      <form id={form} className={formStyles.form} onSubmit={submit}>
        <Field label="Email" required>
          <TextInput
            type="email"
            name="email"
            value={user.email}
            onChange={() => {}}
            autoComplete="username"
            readOnly
          />
        </Field>
        <Field label="Password" required>
          <PasswordInput value={password} onChange={setPassword} autoComplete="current-password" autoFocus />
        </Field>
        {signIn.error && <Banner tone="bad">{signIn.error.message}</Banner>}
      </form>
    </Dialog>
  );
}
