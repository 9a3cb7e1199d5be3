import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useId, useState } from 'react';
import type { SessionView } from '#contract/session.ts';
import { ask } from '../api/api.ts';
import { passwordGiven, sessionGoesOn } from '../api/form-prompts.ts';
import { useSend } from '../api/queries.ts';
import { resumeSession, useLeave, useSession, useSignedInElsewhere, useSignInMethods } from '../api/session.ts';
import { Button } from '../components/button.tsx';
import { Banner } from '../components/panels.tsx';
import { Dialog, type DialogProps } from '../overlays/dialog.tsx';
import formStyles from './form.module.css';
import { AccountEmailField, CurrentPasswordField, HiddenEmail } from './inputs.tsx';

interface PromptProps extends Pick<DialogProps, 'title' | 'description' | 'mustAnswer' | 'children'> {
  readonly leave: string;
  readonly onLeave: () => void;
  readonly submit: string;
  readonly busy: boolean;
  readonly onSubmit: () => void;
}

/** A dialog over a form. It is not a Form itself, because a Form may open prompts. */
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

/**
 * Prompts for a new sign-in, or for the password before a request that needs it. The request is
 * then repeated. Nothing that was typed into the form is lost.
 */
export function FormPrompt({ asks }: { readonly asks: 'sign-in' | 'password' }): ReactNode {
  const { signedInBy } = useSession();
  const methods = useSignInMethods();
  const issuer = signedInBy === 'password' ? undefined : methods.issuer;
  if (asks === 'sign-in') return <SignInAgain issuer={issuer} />;
  return issuer === undefined ? <TypePassword /> : <ProveAtIssuer issuer={issuer} />;
}

const CONFIRMATION = { leave: 'Cancel', onLeave: () => passwordGiven(false), submit: 'Continue' };

/** Opens the issuer in another tab, so that the form stays. */
function ProveAtIssuer({ issuer }: { readonly issuer: string }): ReactNode {
  return (
    <Prompt
      title="Confirm it’s you"
      description={`This needs a recent sign-in at ${issuer}. Sign in there, then continue here.`}
      {...CONFIRMATION}
      busy={false}
      onSubmit={() => passwordGiven(true)}
    >
      <IssuerTab issuer={issuer} />
    </Prompt>
  );
}

function IssuerTab({ issuer }: { readonly issuer: string }): ReactNode {
  const begin = useSend('POST /api/oidc/authorization', {
    changesNothing: true,
    onDone: ({ url }) => void window.open(url, '_blank', 'noopener'),
  });
  return (
    <>
      <Button icon="external" onClick={() => begin.mutate({ body: { again: true } })} busy={begin.isPending}>
        Sign in with {issuer}
      </Button>
      {begin.error && <Banner tone="bad">{begin.error.message}</Banner>}
    </>
  );
}

function TypePassword(): ReactNode {
  const { user } = useSession();
  const [password, setPassword] = useState('');
  const confirm = useSend('POST /api/password/confirmation', {
    changesNothing: true,
    onDone: () => passwordGiven(true),
  });
  const wrong = confirm.error?.fields.password;
  return (
    <Prompt
      title="Enter your password"
      description="You signed in a while ago, so this needs your password again."
      {...CONFIRMATION}
      busy={confirm.isPending}
      onSubmit={() => confirm.mutate({ body: { password } })}
    >
      <HiddenEmail email={user.email} />
      <CurrentPasswordField error={wrong} value={password} onChange={setPassword} autoFocus />
      {confirm.error && wrong === undefined && <Banner tone="bad">{confirm.error.message}</Banner>}
    </Prompt>
  );
}

function SignInAgain({ issuer }: { readonly issuer: string | undefined }): ReactNode {
  const { user } = useSession();
  const [password, setPassword] = useState('');
  const client = useQueryClient();
  const leave = useLeave();
  const resume = (session: SessionView) => resumeSession(client, session);
  const signIn = useSend('POST /api/session', { changesNothing: true, onDone: resume });
  useSignedInElsewhere(resume);
  const discard = () => {
    sessionGoesOn();
    leave();
  };
  const submit = () =>
    issuer === undefined
      ? signIn.mutate({ body: { email: user.email, password } })
      : void ask('GET /api/session', {}).then(resume, () => {});
  return (
    <Prompt
      mustAnswer
      title="Sign in again"
      description="Your session has ended. What you typed is still there."
      leave="Discard the form"
      onLeave={discard}
      submit={issuer === undefined ? 'Sign in' : 'Continue'}
      busy={signIn.isPending}
      onSubmit={submit}
    >
      {issuer === undefined ? (
        <>
          <AccountEmailField value={user.email} onChange={() => {}} readOnly />
          <CurrentPasswordField value={password} onChange={setPassword} autoFocus />
        </>
      ) : (
        <IssuerTab issuer={issuer} />
      )}
      {signIn.error && <Banner tone="bad">{signIn.error.message}</Banner>}
    </Prompt>
  );
}
