import { type ReactNode, useId } from 'react';
import type { ResponseOf } from '#contract/api.ts';
import { present } from '#core/present.ts';
import type { AskEndpoint, SendEndpoint, SendInput } from '../api/api.ts';
import { type OnPage, useSend } from '../api/queries.ts';
import { Button } from '../components/button.tsx';
import { Dialog, type DialogProps } from '../overlays/dialog.tsx';
import { Form, type FormProps } from './form.tsx';

export interface FormDialogProps
  extends Pick<DialogProps, 'open' | 'onClose' | 'title' | 'description' | 'size' | 'finalFocus'>,
    Omit<FormProps, 'id' | 'submit' | 'beside' | 'tone'> {
  /** The action: `Revoke key`, never `OK`. */
  readonly submit: string;
  readonly tone?: 'primary' | 'danger';
  readonly onCancel?: () => void;
}

export function FormDialog(props: FormDialogProps): ReactNode {
  const { submit, tone = 'primary', sending, onCancel, ...rest } = props;
  const { onSubmit, hasFields = true, children, ...dialog } = rest;
  const id = useId();
  return (
    <Dialog
      {...dialog}
      footer={
        <>
          <Button onClick={onCancel ?? dialog.onClose}>Cancel</Button>
          <Button type="submit" form={id} tone={tone} busy={sending?.isPending ?? false}>
            {submit}
          </Button>
        </>
      }
    >
      <Form id={id} onSubmit={onSubmit} sending={sending} hasFields={hasFields}>
        {children}
      </Form>
    </Dialog>
  );
}

interface RequestDialogProps<E extends SendEndpoint> extends Omit<FormDialogProps, 'sending' | 'onSubmit'> {
  readonly endpoint: E;
  readonly input: OnPage<SendInput<E>>;
  readonly changes?: readonly AskEndpoint[];
  /** Default: closes the dialog. */
  readonly onDone?: (response: ResponseOf<E>) => void;
}

/** Asks before it sends one request. */
export function RequestDialog<E extends SendEndpoint>(props: RequestDialogProps<E>): ReactNode {
  const { endpoint, input, changes, onDone = props.onClose, ...dialog } = props;
  const sending = useSend(endpoint, { onDone, ...present({ changes }) });
  return (
    <ConfirmDialog
      {...dialog}
      sending={sending}
      onSubmit={() => sending.mutate(...([input] as Parameters<typeof sending.mutate>))}
    />
  );
}

/** Asks before something is done. The title is a question; the children say what will happen. */
export function ConfirmDialog({ children, tone = 'danger', ...rest }: FormDialogProps): ReactNode {
  return (
    <FormDialog size="small" tone={tone} hasFields={false} {...rest}>
      <div className="parts">{children}</div>
    </FormDialog>
  );
}
