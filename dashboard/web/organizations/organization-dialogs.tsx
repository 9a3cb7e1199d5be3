import { type ReactNode, useState } from 'react';
import type { OrganizationView } from '#contract/organization.ts';
import { useAsk } from '../api/use-ask.ts';
import { useSend } from '../api/use-send.ts';
import { Banner } from '../components/banner.tsx';
import { Fact, Facts } from '../components/facts.tsx';
import { ErrorState } from '../components/states.tsx';
import { useFinish } from '../components/toast.tsx';
import { formatMoney, formatMoneyInFull } from '../format/format-money.ts';
import { Field } from '../forms/field.tsx';
import { ConfirmDialog, FormDialog } from '../forms/form-dialog.tsx';
import { MoneyInput } from '../forms/number-inputs.tsx';
import { TextInput } from '../forms/text-input.tsx';
import { Dialog } from '../overlays/dialog.tsx';
import {
  balanceAfter,
  creditBody,
  creditButton,
  draftOf,
  newReference,
  organizationChange,
} from './organization-drafts.ts';
import { LimitFields, NameField, PriceListField } from './organization-fields.tsx';

export interface OrganizationDialogOfProps {
  readonly action: OrganizationAction;
  readonly onClose: () => void;
}

/** Loads the organization and opens the dialog of the action. */
export function OrganizationDialog({ action: { what, id }, onClose }: OrganizationDialogOfProps): ReactNode {
  const query = useAsk('GET /api/organizations/:organization', { params: { organization: id } });
  if (query.data === undefined) {
    // Shows nothing while loading: replacing one dialog by another would lose the element that gets
    // the focus back.
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

/** An action on an organization that needs a dialog. */
export interface OrganizationAction {
  readonly what: 'edit' | 'credit' | 'suspension';
  readonly id: string;
}

export type OnOrganizationAction = (action: OrganizationAction | undefined) => void;

export function CreditDialog({ organization, onClose }: OrganizationDialogProps): ReactNode {
  const [amountNanoUsd, setAmount] = useState<string>();
  const [note, setNote] = useState('');
  const [reference, setReference] = useState(newReference);
  const finish = useFinish(onClose);
  const credit = useSend('POST /api/organizations/:organization/credits', {
    onDone: ({ name, balanceNanoUsd }) => finish(`${name} has ${formatMoney(balanceNanoUsd)} now`),
  });
  const problems = credit.error?.fields ?? {};
  const after = amountNanoUsd === undefined ? undefined : balanceAfter(organization.balanceNanoUsd, amountNanoUsd);
  const submit = () => {
    if (amountNanoUsd === undefined) return;
    credit.mutate({ params: { organization: organization.id }, body: creditBody({ amountNanoUsd, note, reference }) });
  };
  return (
    <FormDialog
      onClose={onClose}
      title={`Credit ${organization.name}`}
      description="An entry of the ledger, which stays: a mistake is corrected by another one."
      submit={creditButton(amountNanoUsd)}
      sending={credit}
      onSubmit={submit}
    >
      <Field label="Amount" required error={problems.amountNanoUsd} hint="A negative amount takes credit back.">
        <MoneyInput allowNegative value={amountNanoUsd} onChange={setAmount} placeholder="100.00" />
      </Field>
      <Field label="Note" error={problems.note} hint="Owners and members see it in their ledger.">
        <TextInput value={note} onChange={setNote} maxLength={500} autoComplete="off" />
      </Field>
      <Field
        label="Reference"
        error={problems.reference}
        hint="Such as the number of an invoice. It is booked once, for one organization: the same one again changes nothing."
      >
        <TextInput value={reference} onChange={setReference} maxLength={200} autoComplete="off" spellCheck={false} />
      </Field>
      <Facts>
        <Fact label="Balance now">{formatMoneyInFull(organization.balanceNanoUsd)}</Fact>
        <Fact label="Afterwards">
          <strong role="status">{after === undefined ? '–' : formatMoneyInFull(after)}</strong>
        </Fact>
      </Facts>
      {after?.startsWith('-') && (
        <Banner tone="warn">Below zero, requests are refused with 402 insufficient_credits.</Banner>
      )}
    </FormDialog>
  );
}

export interface OrganizationDialogProps {
  readonly organization: OrganizationView;
  readonly onClose: () => void;
}

export function EditOrganizationDialog({ organization, onClose }: OrganizationDialogProps): ReactNode {
  // Values when the dialog was opened; the page behind it keeps refetching.
  const [before] = useState(() => draftOf(organization));
  const [draft, setDraft] = useState(before);
  const finish = useFinish(onClose);
  const edit = useSend('PATCH /api/organizations/:organization', {
    onDone: ({ name }) => finish(`${name} was changed`),
  });
  const submit = () => {
    const body = organizationChange(before, draft);
    if (Object.keys(body).length === 0) onClose();
    else edit.mutate({ params: { organization: organization.id }, body });
  };
  const fields = { draft, onChange: setDraft, problems: edit.error?.fields ?? {} };
  return (
    <FormDialog
      onClose={onClose}
      title={`Edit ${organization.name}`}
      description="New limits are in force for the next request. An empty box lifts a limit."
      submit="Save"
      sending={edit}
      onSubmit={submit}
    >
      <NameField {...fields} />
      <LimitFields {...fields} />
      <PriceListField {...fields} />
    </FormDialog>
  );
}

/** Suspends or resumes an organization. */
export function SuspensionDialog({ organization, onClose }: OrganizationDialogProps): ReactNode {
  const { id, name, suspendedAtMs } = organization;
  const finish = useFinish(onClose);
  const suspend = useSend('POST /api/organizations/:organization/suspension', {
    onDone: () => finish(`${name} is suspended`),
  });
  const resume = useSend('DELETE /api/organizations/:organization/suspension', {
    onDone: () => finish(`${name} works again`),
  });
  const params = { organization: id };
  if (suspendedAtMs !== undefined) {
    return (
      <ConfirmDialog
        onClose={onClose}
        title={`Resume ${name}?`}
        submit="Resume"
        tone="primary"
        sending={resume}
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
      sending={suspend}
      onSubmit={() => suspend.mutate({ params })}
    >
      Every new request with one of its keys is refused at once, with 403 org_suspended. Requests in flight finish.
      Keys, balance and settings stay, its people can still sign in, and you can resume it at any time.
    </ConfirmDialog>
  );
}
