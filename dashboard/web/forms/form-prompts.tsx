import { useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { passwordGiven, sessionGoesOn } from '../api/form-prompts.ts';
import { resumeSession, useSession } from '../api/session.ts';
import { useSend } from '../api/use-send.ts';
import { Banner } from '../components/banner.tsx';
import { Button } from '../components/button.tsx';
import { Dialog, type DialogProps } from '../overlays/dialog.tsx';
import { Field } from './field.tsx';
import formStyles from './form.module.css';
import { HiddenEmail, PasswordInput } from './password-input.tsx';
import { TextInput } from './text-input.tsx';

interface PromptProps extends Pick<DialogProps, 'title' | 'description' | 'mustAnswer' | 'children'> {
  readonly leave: string;
  readonly onLeave: () => void;
  readonly submit: string;
  readonly busy: boolean;
  readonly onSubmit: () => void;
}

/** A dialog over a form. It is no Form itself, because a Form may open prompts. */
function Prompt({ leave, onLeave, submit, busy, onSubmit, children, ...dialog }: PromptProps): ReactNode {
  const form = useId();
  const onFormSubmit = (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    onSubmit();
  };
  return (
    <Dialog
      {...dialog}
      open
      size="small"
      onClose={onLeave}
      footer={
        <>
          <Button onClick={onLeave}>{leave}</Button>
          <Button type="submit" form={form} tone="primary" busy={busy}>
            {submit}
          </Button>
        </>
      }
    >
      <form id={form} className={formStyles.form} onSubmit={onFormSubmit}>
        {children}
      </form>
    </Dialog>
  );
}

/** Asks for the password again before a request that needs it. The request is then repeated. */
export function GivePassword(): ReactNode {
  const { user } = useSession();
  const [password, setPassword] = useState('');
  const confirm = useSend('POST /api/password/confirmation', { changes: [], onDone: () => passwordGiven(true) });
  const wrong = confirm.error?.fields.password;
  return (
    <Prompt
      title="Enter your password"
      description="This needs your password again, because you signed in a while ago."
      leave="Cancel"
      onLeave={() => passwordGiven(false)}
      submit="Continue"
      busy={confirm.isPending}
      onSubmit={() => confirm.mutate({ body: { password } })}
    >
      <HiddenEmail email={user.email} />
      <Field label="Password" error={wrong} required>
        <PasswordInput value={password} onChange={setPassword} autoComplete="current-password" autoFocus />
      </Field>
      {confirm.error && wrong === undefined && <Banner tone="bad">{confirm.error.message}</Banner>}
    </Prompt>
  );
}

/** Asks to sign in again over a form, which keeps what was typed. */
export function SignInAgain(): ReactNode {
  const { user } = useSession();
  const [password, setPassword] = useState('');
  const client = useQueryClient();
  const navigate = useNavigate();
  const signIn = useSend('POST /api/session', { changes: [], onDone: (session) => resumeSession(client, session) });
  const leave = () => {
    sessionGoesOn();
    void navigate({ to: '/sign-in' }).then(() => client.clear());
  };
  return (
    <Prompt
      mustAnswer
      title="Sign in again"
      description="Your session has ended. What you typed is still there."
      leave="Discard the form"
      onLeave={leave}
      submit="Sign in"
      busy={signIn.isPending}
      onSubmit={() => signIn.mutate({ body: { email: user.email, password } })}
    >
      <Field label="Email" required>
        <TextInput type="email" name="email" value={user.email} onChange={() => {}} autoComplete="username" readOnly />
      </Field>
      <Field label="Password" required>
        <PasswordInput value={password} onChange={setPassword} autoComplete="current-password" autoFocus />
      </Field>
      {signIn.error && <Banner tone="bad">{signIn.error.message}</Banner>}
    </Prompt>
  );
}
