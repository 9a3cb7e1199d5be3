import { type ReactNode, useState } from 'react';
import { useSend } from '../api/use-send.ts';
import { Banner } from '../components/banner.tsx';
import { Fact, Facts } from '../components/facts.tsx';
import { useToast } from '../components/toast.tsx';
import { formatMoney, formatMoneyInFull } from '../format/format-money.ts';
import { Field } from '../forms/field.tsx';
import { FormDialog } from '../forms/form-dialog.tsx';
import { MoneyInput } from '../forms/number-inputs.tsx';
import { TextInput } from '../forms/text-input.tsx';
import { balanceAfter, creditBody, creditButton, newReference } from './credit-draft.ts';
import type { OrganizationDialogProps } from './edit-organization-dialog.tsx';

export function CreditDialog({ organization, onClose }: OrganizationDialogProps): ReactNode {
  const [amountNanoUsd, setAmount] = useState<string>();
  const [note, setNote] = useState('');
  const [reference, setReference] = useState(newReference);
  const toast = useToast();
  const credit = useSend('POST /api/organizations/:organization/credits', {
    onDone: ({ name, balanceNanoUsd }) => {
      toast({ tone: 'good', text: `${name} has ${formatMoney(balanceNanoUsd)} now` });
      onClose();
    },
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
      busy={credit.isPending}
      problem={credit.error}
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
