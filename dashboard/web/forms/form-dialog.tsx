import { type ReactNode, type RefObject, useId, useRef } from 'react';
import type { ResponseOf } from '#contract/api.ts';
import type { SendEndpoint, SendInput } from '../api/api.ts';
import { type OnPage, useSend } from '../api/queries.ts';
import { Button } from '../components/button.tsx';
import { useToast } from '../components/toast.tsx';
import { Dialog, type DialogProps } from '../overlays/dialog.tsx';
import { Form, type FormProps } from './form.tsx';

export interface FormDialogProps
  extends Pick<DialogProps, 'open' | 'onClose' | 'title' | 'description' | 'size' | 'finalFocus'>,
    Omit<FormProps, 'id' | 'submit' | 'beside' | 'tone'> {
  /** Label of the action, such as `Revoke key`, never `OK`. */
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
  /** Returns the message about the result, such as `Key revoked`. */
  readonly news?: (response: ResponseOf<E>) => string;
  /** Default: closes the dialog. */
  readonly onDone?: (response: ResponseOf<E>) => void;
  /** Gets the focus afterwards, if the element that opened the dialog disappears. */
  readonly afterwards?: RefObject<HTMLElement | null>;
}

/** Asks for confirmation before it sends one request. */
export function RequestDialog<E extends SendEndpoint>(props: RequestDialogProps<E>): ReactNode {
  const { endpoint, input, news, onDone = props.onClose, afterwards, ...dialog } = props;
  const finalFocus = useRef<HTMLElement>(null);
  const toast = useToast();
  const finish = (response: ResponseOf<E>) => {
    finalFocus.current = afterwards?.current ?? null;
    if (news) toast({ tone: 'good', text: news(response) });
    onDone(response);
  };
  const sending = useSend(endpoint, { onDone: finish });
  return (
    <ConfirmDialog
      {...dialog}
      finalFocus={afterwards && finalFocus}
      sending={sending}
      onSubmit={() => sending.mutate(...([input] as Parameters<typeof sending.mutate>))}
    />
  );
}

/** Asks for confirmation. The title is a question, and the children describe the effect. */
export function ConfirmDialog({ children, tone = 'danger', ...rest }: FormDialogProps): ReactNode {
  return (
    <FormDialog size="small" tone={tone} hasFields={false} {...rest}>
      <div className="parts">{children}</div>
    </FormDialog>
  );
}
