import { type FormEvent, type ReactNode, useId, useState } from 'react';
import { passwordGiven } from '../api/fresh-password.ts';
import { useSession } from '../api/session.ts';
import { useSend } from '../api/use-send.ts';
import { Banner } from '../components/banner.tsx';
import { Button } from '../components/button.tsx';
import { Field } from '../forms/field.tsx';
import formStyles from '../forms/form.module.css';
import { PasswordInput } from '../forms/password-input.tsx';
import { Dialog } from './dialog.tsx';

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
