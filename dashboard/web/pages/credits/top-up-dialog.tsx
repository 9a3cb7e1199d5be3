import { type ReactNode, useState } from 'react';
import type { TopUpOffer } from '#contract/top-ups.ts';
import { useSend } from '../../api/use-send.ts';
import { formatCount } from '../../format/format-number.ts';
import { SegmentedControl } from '../../forms/choices.tsx';
import { Field } from '../../forms/field.tsx';
import { FormDialog } from '../../forms/form-dialog.tsx';
import { NumberInput } from '../../forms/number-inputs.tsx';

export interface TopUpDialogProps {
  readonly organization: string;
  readonly offer: TopUpOffer;
  readonly onClose: () => void;
}

/** Chooses an amount and goes to Stripe, which takes the payment. */
export function TopUpDialog({ organization, offer, onClose }: TopUpDialogProps): ReactNode {
  const { presetsUsd, leastUsd, mostUsd } = offer;
  const [amountUsd, setAmount] = useState(presetsUsd[0]);
  const begin = useSend('POST /api/organizations/:organization/top-ups', {
    changes: ['GET /api/organizations/:organization/top-ups'],
    onDone: ({ url }) => window.location.assign(url),
  });
  const choices = presetsUsd.map((preset) => ({ value: String(preset), label: `$${formatCount(preset)}` }));
  return (
    <FormDialog
      onClose={onClose}
      title="Add credit"
      description="You pay at Stripe and come back here. The balance follows within seconds."
      submit="Continue to payment"
      sending={begin}
      onSubmit={() => {
        if (amountUsd !== undefined) begin.mutate({ params: { organization }, body: { amountUsd } });
      }}
    >
      <SegmentedControl
        label="Amount"
        value={String(amountUsd)}
        onChange={(value) => setAmount(Number(value))}
        choices={choices}
      />
      <Field
        label="Amount in USD"
        hint={`From $${formatCount(leastUsd)} to $${formatCount(mostUsd)}, without cents.`}
        error={begin.error?.fields?.amountUsd}
        required
      >
        <NumberInput value={amountUsd} onChange={setAmount} min={leastUsd} max={mostUsd} suffix="USD" />
      </Field>
    </FormDialog>
  );
}
