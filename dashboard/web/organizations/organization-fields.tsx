import { type ReactNode, useState } from 'react';
import { DEFAULT_CONCURRENCY } from '#core/principal.ts';
import { useAsk } from '../api/use-ask.ts';
import { Checkbox } from '../forms/choices.tsx';
import { Field } from '../forms/field.tsx';
import { FormRow } from '../forms/form.tsx';
import { MoneyInput, NumberInput } from '../forms/number-inputs.tsx';
import { Select } from '../forms/select.tsx';
import { TextInput } from '../forms/text-input.tsx';
import type { OrganizationDraft } from './organization-drafts.ts';

export interface OrganizationFieldsProps {
  readonly draft: OrganizationDraft;
  readonly onChange: (draft: OrganizationDraft) => void;
  /** Messages of the server by field. */
  readonly problems: Readonly<Record<string, string>>;
}

const MAX_TOKENS_PER_MINUTE = 1_000_000_000_000;
const MAX_CONCURRENCY = 1_000_000;

export function NameField({ draft, onChange, problems }: OrganizationFieldsProps): ReactNode {
  return (
    <Field label="Name" required error={problems.name}>
      <TextInput
        value={draft.name}
        onChange={(name) => onChange({ ...draft, name })}
        maxLength={200}
        autoComplete="off"
      />
    </Field>
  );
}

/** Shown where the configuration has price lists, or the organization has one. */
export function PriceListField({ draft, onChange, problems }: OrganizationFieldsProps): ReactNode {
  const { data } = useAsk('GET /api/price-lists', {});
  const [given] = useState(draft.priceList);
  const lists = [...new Set([...(data?.priceLists ?? []), ...(given === undefined ? [] : [given])])];
  if (lists.length === 0) return null;
  return (
    <Field label="Price list" error={problems.priceList} hint="Requests that arrive from now on have its prices.">
      <Select
        value={draft.priceList ?? ''}
        onChange={(list) => onChange({ ...draft, priceList: list === '' ? undefined : list })}
        choices={[
          { value: '', label: 'None: the prices of the models' },
          ...lists.map((list) => ({
            value: list,
            label: data?.priceLists.includes(list) === false ? `${list} (not in the configuration)` : list,
          })),
        ]}
      />
    </Field>
  );
}

/** Keys can have lower limits only. */
export function LimitFields({ draft, onChange, problems }: OrganizationFieldsProps): ReactNode {
  const set = (next: Partial<OrganizationDraft>) => onChange({ ...draft, ...next });
  return (
    <>
      <FormRow>
        <Field label="Requests per minute" error={problems.requestsPerMinute}>
          <NumberInput
            min={1}
            value={draft.requestsPerMinute}
            onChange={(requestsPerMinute) => set({ requestsPerMinute })}
            placeholder="Unlimited"
          />
        </Field>
        <Field label="Tokens per minute" error={problems.tokensPerMinute}>
          <NumberInput
            min={1}
            max={MAX_TOKENS_PER_MINUTE}
            value={draft.tokensPerMinute}
            onChange={(tokensPerMinute) => set({ tokensPerMinute })}
            placeholder="Unlimited"
          />
        </Field>
      </FormRow>
      <FormRow>
        <Field label="Daily budget" error={problems.dailyBudgetNanoUsd} hint="Resets at 00:00 UTC.">
          <MoneyInput
            allowZero
            value={draft.dailyBudgetNanoUsd}
            onChange={(dailyBudgetNanoUsd) => set({ dailyBudgetNanoUsd })}
            placeholder="Unlimited"
          />
        </Field>
        <Field label="Output tokens a request" error={problems.maxTokens} hint="The cap of max_tokens.">
          <NumberInput
            min={1}
            value={draft.maxTokens}
            onChange={(maxTokens) => set({ maxTokens })}
            placeholder="That of the model"
          />
        </Field>
      </FormRow>
      <Field label="Requests at once" error={problems.concurrency} hint="More are refused until one has ended.">
        <NumberInput
          min={1}
          max={MAX_CONCURRENCY}
          value={draft.concurrency}
          onChange={(concurrency) => set({ concurrency })}
          placeholder={String(DEFAULT_CONCURRENCY)}
        />
      </Field>
      <Checkbox
        label="Allow several completions in one request"
        hint="Without it, n above 1 is refused with n_not_allowed."
        checked={draft.allowMultipleCompletions}
        onChange={(allowMultipleCompletions) => set({ allowMultipleCompletions })}
      />
    </>
  );
}
