import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { passwordGiven, sessionGoesOn } from '../api/form-prompts.ts';
import { resumeSession, useSession } from '../api/session.ts';
import { useSend } from '../api/use-send.ts';
import { Banner } from '../components/banner.tsx';
import { Button } from '../components/button.tsx';
import { Dialog } from '../overlays/dialog.tsx';
import { Field } from './field.tsx';
import formStyles from './form.module.css';
import { PasswordInput } from './password-input.tsx';
import { TextInput } from './text-input.tsx';

/** Over a form whose request needs a password that was given lately; the request is sent again then. */
export function GivePassword(): ReactNode {
  const form = useId();
  const { user } = useSession();
  const [password, setPassword] = useState('');
  const confirm = useSend('POST /api/password/confirmation', { changes: [], onDone: () => passwordGiven(true) });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    confirm.mutate({ body: { password } });
  };
  const cancel = () => passwordGiven(false);
  const wrong = confirm.error?.fields.password;
  return (
    <Dialog
      open
      onClose={cancel}
      size="small"
      title="Enter your password"
      description="This needs your password again, because you signed in a while ago."
      footer={
        <>
          <Button onClick={cancel}>Cancel</Button>
          <Button type="submit" form={form} tone="primary" busy={confirm.isPending}>
            Continue
          </Button>
        </>
      }
    >
      <form id={form} className={formStyles.form} onSubmit={submit}>
        {/* So that password managers know whose it is. */}
        <input type="hidden" name="email" autoComplete="username" value={user.email} readOnly />
        <Field label="Password" error={wrong} required>
          <PasswordInput value={password} onChange={setPassword} autoComplete="current-password" autoFocus />
        </Field>
        {confirm.error && wrong === undefined && <Banner tone="bad">{confirm.error.message}</Banner>}
      </form>
    </Dialog>
  );
}

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
