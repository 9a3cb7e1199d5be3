import { type ReactNode, useId } from 'react';
import { Button } from '../components/button.tsx';
import { Dialog, type DialogProps } from '../overlays/dialog.tsx';
import { Form, type FormProps } from './form.tsx';

export interface FormDialogProps
  extends Pick<DialogProps, 'onClose' | 'title' | 'description' | 'size' | 'finalFocus'>,
    Omit<FormProps, 'id'> {
  readonly open?: boolean;
  /** The action: `Revoke key`, never `OK`. */
  readonly submit: string;
  readonly tone?: 'primary' | 'danger';
  readonly busy?: boolean;
  /** Default: `onClose`. */
  readonly onCancel?: () => void;
}

/** A form in a dialog, with its buttons in the footer. */
export function FormDialog(props: FormDialogProps): ReactNode {
  const { open = true, submit, tone = 'primary', busy = false, onCancel, ...rest } = props;
  const { onSubmit, problem = null, hasFields = true, children, ...dialog } = rest;
  const id = useId();
  return (
    <Dialog
      {...dialog}
      open={open}
      footer={
        <>
          <Button onClick={onCancel ?? dialog.onClose}>Cancel</Button>
          <Button type="submit" form={id} tone={tone} busy={busy}>
            {submit}
          </Button>
        </>
      }
    >
      <Form id={id} onSubmit={onSubmit} problem={problem} hasFields={hasFields}>
        {children}
      </Form>
    </Dialog>
  );
}

/** Asks before something is done. The title is a question; the children say what will happen. */
export function ConfirmDialog({ children, tone = 'danger', ...rest }: FormDialogProps): ReactNode {
  return (
    <FormDialog size="small" tone={tone} hasFields={false} {...rest}>
      <div>{children}</div>
    </FormDialog>
  );
}
