import { type FormEvent, type ReactNode, type RefObject, useId, useState } from 'react';
import type { ApiProblem } from '../api/problem.ts';
import { Banner } from '../components/banner.tsx';
import { Button } from '../components/button.tsx';
import { Dialog } from '../overlays/dialog.tsx';
import { Field } from './field.tsx';
import formStyles from './form.module.css';
import { FormGuards } from './form-guards.tsx';
import { TextInput } from './text-input.tsx';

export interface ConfirmDialogProps {
  readonly open: boolean;
  readonly onClose: () => void;
  /** A question: `Revoke the key "backend"?` */
  readonly title: string;
  /** What will happen, and that it cannot be undone if so. */
  readonly children: ReactNode;
  /** What the button does: `Revoke key`, never `OK`. */
  readonly confirm: string;
  readonly onConfirm: () => void;
  readonly tone?: 'primary' | 'danger';
  /** Has to be typed first. For what cannot be undone and stops others' work. */
  readonly typeToConfirm?: string;
  readonly busy?: boolean;
  readonly problem?: ApiProblem | null;
  /** Takes the focus when what opened the dialog is gone by then. While it holds nothing the focus goes back as ever. */
  readonly finalFocus?: RefObject<HTMLElement | null> | undefined;
}

export function ConfirmDialog(props: ConfirmDialogProps): ReactNode {
  const form = useId();
  return (
    <Dialog
      open={props.open}
      onClose={props.onClose}
      title={props.title}
      size="small"
      finalFocus={props.finalFocus}
      footer={
        <>
          <Button onClick={props.onClose}>Cancel</Button>
          <Button type="submit" form={form} tone={props.tone ?? 'danger'} busy={props.busy ?? false}>
            {props.confirm}
          </Button>
        </>
      }
    >
      <ConfirmForm id={form} {...props} />
    </Dialog>
  );
}

function ConfirmForm(props: ConfirmDialogProps & { readonly id: string }): ReactNode {
  const [typed, setTyped] = useState('');
  const [error, setError] = useState<string>();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (props.typeToConfirm !== undefined && typed.trim() !== props.typeToConfirm) {
      setError(`Type ${props.typeToConfirm} to go on.`);
    } else {
      props.onConfirm();
    }
  };
  return (
    <form id={props.id} className={formStyles.form} onSubmit={submit} noValidate>
      <div>{props.children}</div>
      {props.typeToConfirm !== undefined && (
        <Field label={`Type ${props.typeToConfirm} to confirm`} error={error} required>
          <TextInput value={typed} onChange={setTyped} autoComplete="off" spellCheck={false} />
        </Field>
      )}
      {props.problem && props.problem.problem !== 'password_needed' && (
        <Banner tone="bad">{props.problem.message}</Banner>
      )}
      <FormGuards />
    </form>
  );
}
