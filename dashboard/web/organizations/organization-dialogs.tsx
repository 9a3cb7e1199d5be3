import { type ReactNode, useState } from 'react';
import type { OrganizationView } from '#contract/organization.ts';
import { ORGANIZATION_SETTINGS } from '#contract/shown-settings.ts';
import { useAsk, useSend } from '../api/queries.ts';
import type { IconName } from '../components/icon.tsx';
import { Banner, ErrorState } from '../components/panels.tsx';
import { useFinish } from '../components/toast.tsx';
import { Facts } from '../components/values.tsx';
import { formatMoney, formatMoneyInFull } from '../format/format.ts';
import { changeOf, draftOf } from '../forms/draft.ts';
import { fieldsOf } from '../forms/field.tsx';
import { FormDialog, RequestDialog } from '../forms/form-dialog.tsx';
import { MoneyField, TextField } from '../forms/inputs.tsx';
import { SettingField } from '../forms/setting-field.tsx';
import { Dialog, type OpenOverlay } from '../overlays/dialog.tsx';
import type { MenuAction } from '../overlays/menu-popup.tsx';
import { LimitFields, PriceListField } from './limit-fields.tsx';
import {
  balanceAfter,
  type CreditDraft,
  creditBody,
  creditButton,
  newOrganization,
  newReference,
  type OrganizationDraft,
  settingsOf,
} from './organization-drafts.ts';

export function organizationActions(
  { id, suspendedAtMs }: Pick<OrganizationView, 'id' | 'suspendedAtMs'>,
  open: OpenOverlay,
): readonly (MenuAction & { readonly icon: IconName })[] {
  const dialog = (Of: typeof CreditDialog) => () =>
    open((onClose) => <LoadedDialog id={id} of={Of} onClose={onClose} />);
  return [
    { label: 'Add credit', icon: 'credits', onSelect: dialog(CreditDialog) },
    { label: 'Edit limits', icon: 'edit', onSelect: dialog(EditOrganizationDialog) },
    suspendedAtMs === undefined
      ? { label: 'Suspend', icon: 'pause', tone: 'bad', onSelect: dialog(SuspensionDialog) }
      : { label: 'Resume', icon: 'play', onSelect: dialog(SuspensionDialog) },
  ];
}

interface LoadedDialogProps {
  readonly id: string;
  readonly of: typeof CreditDialog;
  readonly onClose: () => void;
}

function LoadedDialog({ id, of: Of, onClose }: LoadedDialogProps): ReactNode {
  const query = useAsk('GET /api/organizations/:organization', { params: { organization: id } });
  if (query.data !== undefined) return <Of organization={query.data} onClose={onClose} />;
  // Shows nothing while loading, because replacing one dialog by another would lose the element to
  // which the focus returns.
  if (query.error === null) return null;
  return (
    <Dialog onClose={onClose} title="Organization" size="small">
      <ErrorState problem={query.error} onRetry={() => void query.refetch()} />
    </Dialog>
  );
}

function CreditDialog({ organization, onClose }: OrganizationDialogProps): ReactNode {
  const [draft, setDraft] = useState<CreditDraft>(() => ({
    amountNanoUsd: undefined,
    note: '',
    reference: newReference(),
  }));
  const finish = useFinish(onClose);
  const credit = useSend('POST /api/organizations/:organization/credits', {
    onDone: ({ name, balanceNanoUsd }) => finish(`${name} has ${formatMoney(balanceNanoUsd)} now`),
  });
  const field = fieldsOf(draft, setDraft, credit.error?.fields);
  const { amountNanoUsd } = draft;
  const after = amountNanoUsd === undefined ? undefined : balanceAfter(organization.balanceNanoUsd, amountNanoUsd);
  const submit = () => {
    const body = creditBody(draft);
    if (body) credit.mutate({ params: { organization: organization.id }, body });
  };
  return (
    <FormDialog
      onClose={onClose}
      title={`Credit ${organization.name}`}
      description="Adds a permanent ledger entry. Correct a mistake with another entry."
      submit={creditButton(amountNanoUsd)}
      sending={credit}
      onSubmit={submit}
    >
      <MoneyField
        label="Amount"
        required
        hint="A negative amount takes credit back."
        {...field('amountNanoUsd')}
        allowNegative
        placeholder="100.00"
      />
      <TextField
        label="Note"
        hint="Owners and members see it in their ledger."
        {...field('note')}
        maxLength={500}
        autoComplete="off"
      />
      <TextField
        label="Reference"
        hint="For example an invoice number. Each reference is booked only once."
        {...field('reference')}
        maxLength={200}
        autoComplete="off"
        spellCheck={false}
      />
      <Facts
        of={{
          'Current balance': formatMoneyInFull(organization.balanceNanoUsd),
          'New balance': <strong role="status">{after === undefined ? '–' : formatMoneyInFull(after)}</strong>,
        }}
      />
      {after?.startsWith('-') && (
        <Banner tone="warn">Below zero, requests are refused with 402 insufficient_credits.</Banner>
      )}
    </FormDialog>
  );
}

interface OrganizationDialogProps {
  readonly organization: OrganizationView;
  readonly onClose: () => void;
}

function EditOrganizationDialog({ organization, onClose }: OrganizationDialogProps): ReactNode {
  // The values when the dialog was opened. The page behind it keeps refetching.
  const [before] = useState(() => settingsOf(organization));
  const [draft, setDraft] = useState(() => draftOf(ORGANIZATION_SETTINGS, before));
  const finish = useFinish(onClose);
  const edit = useSend('PATCH /api/organizations/:organization', {
    onDone: ({ name }) => finish(`${name} was changed`),
  });
  const submit = () => {
    const body = changeOf(ORGANIZATION_SETTINGS, before, draft);
    if (Object.keys(body).length === 0) onClose();
    else edit.mutate({ params: { organization: organization.id }, body });
  };
  const field = fieldsOf(draft, setDraft, edit.error?.fields);
  return (
    <FormDialog
      onClose={onClose}
      title={`Edit ${organization.name}`}
      description="Applies from the next request. An empty limit has the value that its field shows."
      submit="Save"
      sending={edit}
      onSubmit={submit}
    >
      <SettingField of={ORGANIZATION_SETTINGS.name} {...field('name')} />
      <LimitFields field={field} />
      <PriceListField {...field('priceList')} />
    </FormDialog>
  );
}

export interface CreateOrganizationDialogProps {
  /** Kept by the page, so that an accidentally closed dialog loses nothing. */
  readonly draft: OrganizationDraft;
  readonly onDraft: (draft: OrganizationDraft) => void;
  readonly onClose: () => void;
  readonly onCreated: (organization: OrganizationView) => void;
}

export function CreateOrganizationDialog(props: CreateOrganizationDialogProps): ReactNode {
  const { draft, onDraft, onClose, onCreated } = props;
  const [reference] = useState(newReference);
  const create = useSend('POST /api/organizations', { onDone: onCreated });
  const field = fieldsOf(draft, onDraft, create.error?.fields);
  return (
    <FormDialog
      onClose={onClose}
      title="New organization"
      description="You can change everything later and add credit at any time."
      submit="Create organization"
      sending={create}
      onSubmit={() => create.mutate({ body: newOrganization(draft, reference) })}
    >
      <SettingField of={ORGANIZATION_SETTINGS.name} {...field('name')} />
      <MoneyField label="Opening credit" {...field('creditNanoUsd')} placeholder="0.00" />
      <LimitFields field={field} />
      <PriceListField {...field('priceList')} />
    </FormDialog>
  );
}

function SuspensionDialog({ organization, onClose }: OrganizationDialogProps): ReactNode {
  const { id, name, suspendedAtMs } = organization;
  const shared = { onClose, input: { params: { organization: id } } };
  if (suspendedAtMs !== undefined) {
    return (
      <RequestDialog
        {...shared}
        endpoint="DELETE /api/organizations/:organization/suspension"
        news={() => `${name} works again`}
        title={`Resume ${name}?`}
        submit="Resume"
        tone="primary"
      >
        Its keys work again at once, with the same balance and limits.
      </RequestDialog>
    );
  }
  return (
    <RequestDialog
      {...shared}
      endpoint="POST /api/organizations/:organization/suspension"
      news={() => `${name} is suspended`}
      title={`Suspend ${name}?`}
      submit="Suspend"
    >
      Every new request with one of its keys is refused at once, with 403 org_suspended. Requests in progress finish.
      Keys, balance and settings stay, its people can still sign in, and you can resume it at any time.
    </RequestDialog>
  );
}
