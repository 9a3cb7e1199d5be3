import type { ReactNode } from 'react';
import { useAsk } from '../api/use-ask.ts';
import { ErrorState } from '../components/error-state.tsx';
import { Dialog } from '../overlays/dialog.tsx';
import { CreditDialog } from './credit-dialog.tsx';
import { EditOrganizationDialog } from './edit-organization-dialog.tsx';
import { SuspensionDialog } from './suspension-dialog.tsx';

export interface OrganizationDialogOfProps {
  readonly action: OrganizationAction;
  readonly onClose: () => void;
}

/** The dialog of an action, with the organization as it is now. */
export function OrganizationDialog({ action: { what, id }, onClose }: OrganizationDialogOfProps): ReactNode {
  const query = useAsk('GET /api/organizations/:organization', { params: { organization: id } });
  if (query.data === undefined) {
    // It comes in a moment. A dialog that is replaced by another one would lose where the focus has to go back to.
    if (query.error === null) return null;
    return (
      <Dialog open onClose={onClose} title="Organization" size="small">
        <ErrorState problem={query.error} onRetry={() => void query.refetch()} />
      </Dialog>
    );
  }
  const props = { organization: query.data, onClose };
  switch (what) {
    case 'edit':
      return <EditOrganizationDialog {...props} />;
    case 'credit':
      return <CreditDialog {...props} />;
    case 'suspension':
      return <SuspensionDialog {...props} />;
  }
}

/** What is being done to an organization in a dialog. */
export interface OrganizationAction {
  readonly what: 'edit' | 'credit' | 'suspension';
  readonly id: string;
}

export type OnOrganizationAction = (action: OrganizationAction | undefined) => void;
