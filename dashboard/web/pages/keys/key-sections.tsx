import { type ReactNode, useState } from 'react';
import { MAX_LIST_LENGTH } from '../../../../core/field-bounds.ts';
import { isIpRange } from '../../../../core/net/ip-ranges.ts';
import { formatInstant } from '../../format/format-instant.ts';
import { ChipsInput } from '../../forms/chips-input.tsx';
import { SegmentedControl } from '../../forms/choices.tsx';
import { DateTimeField } from '../../forms/date-time-input.tsx';
import { Field } from '../../forms/field.tsx';
import { FormRow } from '../../forms/form.tsx';
import { FormSection } from '../../forms/form-section.tsx';
import { MultiCombobox } from '../../forms/multi-combobox.tsx';
import { MoneyInput, NumberInput } from '../../forms/number-inputs.tsx';
import { countLabel, limitLabels, shortMoney } from '../../keys/key-labels.ts';
import { modelChoice } from '../../models/model-labels.ts';
import { EXPIRY_CHOICES, EXPIRY_LABELS, expiryChoiceOf, expiryOf } from './key-choices.ts';
import type { KeyFieldsProps } from './key-form.ts';

export function ModelSection({ draft, onChange, problems, models = [] }: KeyFieldsProps): ReactNode {
  return (
    <FormSection
      title="Models"
      summary={countLabel(draft.models, 'models') ?? 'All models'}
      hasProblem={problems.models !== undefined}
    >
      <Field
        label="Allowed models"
        error={problems.models}
        hint="If none is chosen, the key may use every model, including future ones."
      >
        <MultiCombobox
          choices={models.map(modelChoice)}
          values={draft.models}
          onChange={(chosen) => onChange({ ...draft, models: chosen })}
          placeholder="Search models"
        />
      </Field>
    </FormSection>
  );
}

export function AddressSection({ draft, onChange, problems }: KeyFieldsProps): ReactNode {
  return (
    <FormSection
      title="Addresses"
      summary={countLabel(draft.ipRanges, 'addresses') ?? 'Any address'}
      hasProblem={problems.ipRanges !== undefined}
    >
      <Field
        label="Allowed addresses"
        error={problems.ipRanges}
        hint="Addresses and ranges from which the key works, such as 203.0.113.7 or 10.0.0.0/8. If empty, it works from everywhere."
      >
        <ChipsInput
          values={draft.ipRanges}
          onChange={(ipRanges) => onChange({ ...draft, ipRanges })}
          validate={(text) =>
            isIpRange(text) ? undefined : `${text} is neither an address nor a range like 10.0.0.0/8.`
          }
          max={MAX_LIST_LENGTH}
          placeholder="203.0.113.7 or 10.0.0.0/8"
        />
      </Field>
    </FormSection>
  );
}

export function ExpirySection({ draft, onChange, problems }: KeyFieldsProps): ReactNode {
  const { expiresAtMs } = draft;
  const [choice, setChoice] = useState(() => expiryChoiceOf(expiresAtMs));
  return (
    <FormSection
      title="Expiry"
      summary={expiresAtMs === undefined ? 'Never' : formatInstant(expiresAtMs)}
      hasProblem={problems.expiresAtMs !== undefined}
    >
      <SegmentedControl
        label="Expires"
        value={choice}
        choices={EXPIRY_CHOICES.map((value) => ({ value, label: EXPIRY_LABELS[value] }))}
        onChange={(next) => {
          setChoice(next);
          // A custom expiry starts at the moment that was chosen before.
          if (next !== 'custom' || expiresAtMs === undefined)
            onChange({ ...draft, expiresAtMs: expiryOf(next, Date.now()) });
        }}
      />
      {choice === 'custom' ? (
        <DateTimeField
          label="Expires at"
          required
          value={expiresAtMs}
          onChange={(atMs) => onChange({ ...draft, expiresAtMs: atMs })}
          error={problems.expiresAtMs}
        />
      ) : (
        <p className="muted">
          {expiresAtMs === undefined
            ? 'The key works until it is revoked.'
            : `From ${formatInstant(expiresAtMs)} on, requests get key_expired.`}
        </p>
      )}
    </FormSection>
  );
}

export function LimitSection({ draft, onChange, problems, limits }: KeyFieldsProps): ReactNode {
  const { requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd } = problems;
  const hasProblem = [requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd].some((problem) => problem !== undefined);
  const budget = limits?.dailyBudgetNanoUsd;
  return (
    <FormSection
      title="Limits"
      summary={limitLabels(draft).join(' · ') || 'Those of the organization'}
      hasProblem={hasProblem}
    >
      <FormRow>
        <Field
          label="Requests per minute"
          error={requestsPerMinute}
          hint={hintOf(limits?.requestsPerMinute?.toLocaleString('en-US'))}
        >
          <NumberInput
            value={draft.requestsPerMinute}
            onChange={(value) => onChange({ ...draft, requestsPerMinute: value })}
            min={1}
            max={limits?.requestsPerMinute ?? 1_000_000_000}
          />
        </Field>
        <Field
          label="Tokens per minute"
          error={tokensPerMinute}
          hint={hintOf(limits?.tokensPerMinute?.toLocaleString('en-US'))}
        >
          <NumberInput
            value={draft.tokensPerMinute}
            onChange={(value) => onChange({ ...draft, tokensPerMinute: value })}
            min={1}
            max={limits?.tokensPerMinute ?? 1_000_000_000_000}
          />
        </Field>
        <Field
          label="Daily budget"
          error={dailyBudgetNanoUsd}
          hint={hintOf(budget === undefined ? undefined : `${shortMoney(budget)} a day`)}
        >
          <MoneyInput
            value={draft.dailyBudgetNanoUsd}
            onChange={(value) => onChange({ ...draft, dailyBudgetNanoUsd: value })}
            allowZero
            max={budget}
          />
        </Field>
      </FormRow>
      <p className="muted">Budgets reset at 00:00 UTC. If empty, only the organization's limits apply.</p>
    </FormSection>
  );
}

function hintOf(organizationLimit: string | undefined): string {
  return organizationLimit === undefined ? 'Organization: no limit' : `Organization: ${organizationLimit}`;
}
