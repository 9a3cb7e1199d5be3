import type { ReactNode } from 'react';
import { MAX_LIST_LENGTH } from '#core/field-bounds.ts';
import { isIpRange } from '#core/net/ip-ranges.ts';
import { formatInstant } from '../../format/format-instant.ts';
import { ChipsInput } from '../../forms/chips-input.tsx';
import { Field } from '../../forms/field.tsx';
import { FormRow } from '../../forms/form.tsx';
import { FormSection } from '../../forms/form-section.tsx';
import { MultiCombobox } from '../../forms/multi-combobox.tsx';
import { MoneyInput, NumberInput } from '../../forms/number-inputs.tsx';
import { countLabel, limitLabels, shortMoney } from '../../keys/key-labels.ts';
import { modelChoice } from '../../models/model-labels.ts';
import { ExpiryFields } from './expiry-fields.tsx';
import { expiryChoiceOf } from './key-choices.ts';
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
  return (
    <FormSection
      title="Expiry"
      summary={expiresAtMs === undefined ? 'Never' : formatInstant(expiresAtMs)}
      hasProblem={problems.expiresAtMs !== undefined}
    >
      <ExpiryFields
        initial={expiryChoiceOf(expiresAtMs)}
        expiresAtMs={expiresAtMs}
        onChange={(atMs) => onChange({ ...draft, expiresAtMs: atMs })}
        problem={problems.expiresAtMs}
      />
    </FormSection>
  );
}

export function LimitSection({ draft, onChange, problems, limits }: KeyFieldsProps): ReactNode {
  const { dailyBudgetNanoUsd, monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd } = problems;
  const rateProblems = [problems.requestsPerMinute, problems.tokensPerMinute];
  const budgetProblems = [dailyBudgetNanoUsd, monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd];
  const hasProblem = [...rateProblems, ...budgetProblems].some((problem) => problem !== undefined);
  const budget = limits?.dailyBudgetNanoUsd;
  return (
    <FormSection
      title="Limits"
      summary={limitLabels(draft).join(' · ') || 'Those of the organization'}
      hasProblem={hasProblem}
    >
      <RateFields draft={draft} onChange={onChange} problems={problems} limits={limits} />
      <FormRow>
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
        <Field label="Monthly budget" error={monthlyBudgetNanoUsd} hint="Of each month in UTC">
          <MoneyInput
            value={draft.monthlyBudgetNanoUsd}
            onChange={(value) => onChange({ ...draft, monthlyBudgetNanoUsd: value })}
            allowZero
          />
        </Field>
        <Field label="Lifetime budget" error={lifetimeBudgetNanoUsd} hint="Of all that the key ever spends">
          <MoneyInput
            value={draft.lifetimeBudgetNanoUsd}
            onChange={(value) => onChange({ ...draft, lifetimeBudgetNanoUsd: value })}
            allowZero
          />
        </Field>
      </FormRow>
      <p className="muted">
        Daily budgets reset at 00:00 UTC, monthly ones on the first of the month, lifetime budgets never. If empty, only
        the organization's limits apply.
      </p>
    </FormSection>
  );
}

function RateFields({ draft, onChange, problems, limits }: Omit<KeyFieldsProps, 'models'>): ReactNode {
  return (
    <FormRow>
      <Field
        label="Requests per minute"
        error={problems.requestsPerMinute}
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
        error={problems.tokensPerMinute}
        hint={hintOf(limits?.tokensPerMinute?.toLocaleString('en-US'))}
      >
        <NumberInput
          value={draft.tokensPerMinute}
          onChange={(value) => onChange({ ...draft, tokensPerMinute: value })}
          min={1}
          max={limits?.tokensPerMinute ?? 1_000_000_000_000}
        />
      </Field>
    </FormRow>
  );
}

function hintOf(organizationLimit: string | undefined): string {
  return organizationLimit === undefined ? 'Organization: no limit' : `Organization: ${organizationLimit}`;
}
