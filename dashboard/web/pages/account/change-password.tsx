import { type ReactNode, useState } from 'react';
import { useSession } from '../../api/session.ts';
import { useSend } from '../../api/use-send.ts';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { useToast } from '../../components/toast.tsx';
import { Field } from '../../forms/field.tsx';
import { Form, FormButtons } from '../../forms/form.tsx';
import { HiddenEmail, NewPasswordField, PasswordInput } from '../../forms/password-input.tsx';
import styles from './account.module.css';

export function ChangePassword(): ReactNode {
  const { user } = useSession();
  const [current, setCurrent] = useState('');
  const [next, setNext] = useState('');
  const toast = useToast();
  const change = useSend('PUT /api/password', {
    changes: ['GET /api/devices', 'GET /api/session'],
    onDone: () => {
      setCurrent('');
      setNext('');
      toast({ tone: 'good', text: 'Password changed. Every other device was signed out.' });
    },
  });
  const wrong = change.error?.problem === 'wrong_password';
  return (
    <Card title="Password">
      <div className={styles.narrow}>
        <Form onSubmit={() => change.mutate({ body: { current, next } })} problem={wrong ? null : change.error}>
          <HiddenEmail email={user.email} />
          <Field
            label="Current password"
            error={change.error?.fields.current ?? (wrong ? change.error?.message : undefined)}
            required
          >
            <PasswordInput value={current} onChange={setCurrent} autoComplete="current-password" />
          </Field>
          <NewPasswordField value={next} onChange={setNext} error={change.error?.fields.next} />
          <FormButtons>
            <Button type="submit" busy={change.isPending}>
              Change password
            </Button>
          </FormButtons>
        </Form>
      </div>
    </Card>
  );
}
