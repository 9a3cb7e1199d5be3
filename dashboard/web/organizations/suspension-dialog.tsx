import type { ReactNode } from 'react';
import { useSend } from '../api/use-send.ts';
import { useToast } from '../components/toast.tsx';
import { ConfirmDialog } from '../forms/form-dialog.tsx';
import type { OrganizationDialogProps } from './edit-organization-dialog.tsx';

/** Suspends, or resumes what is suspended. */
export function SuspensionDialog({ organization, onClose }: OrganizationDialogProps): ReactNode {
  const { id, name, suspendedAtMs } = organization;
  const toast = useToast();
  const done = (text: string) => ({
    onDone: () => {
      toast({ tone: 'good', text });
      onClose();
    },
  });
  const suspend = useSend('POST /api/organizations/:organization/suspension', done(`${name} is suspended`));
  const resume = useSend('DELETE /api/organizations/:organization/suspension', done(`${name} works again`));
  const params = { organization: id };
  if (suspendedAtMs !== undefined) {
    return (
      <ConfirmDialog
        onClose={onClose}
        title={`Resume ${name}?`}
        submit="Resume"
        tone="primary"
        busy={resume.isPending}
        problem={resume.error}
        onSubmit={() => resume.mutate({ params })}
      >
        Its keys work again at once, with the balance and the limits that it has.
      </ConfirmDialog>
    );
  }
  return (
    <ConfirmDialog
      onClose={onClose}
      title={`Suspend ${name}?`}
      submit="Suspend"
      busy={suspend.isPending}
      problem={suspend.error}
      onSubmit={() => suspend.mutate({ params })}
    >
      Every new request with one of its keys is refused at once, with 403 org_suspended. Requests in flight finish.
      Keys, balance and settings stay, its people can still sign in, and you can resume it at any time.
    </ConfirmDialog>
  );
}
