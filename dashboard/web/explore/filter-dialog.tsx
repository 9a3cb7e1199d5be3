import { type ReactNode, useState } from 'react';
import { STATUS_CLASSES } from '#contract/explore.ts';
import { type ExploreState, exploreSearch, LISTS, type ListName } from '#contract/explore-search.ts';
import { CLIENT_GONE_STATUS, ERROR_CODES } from '#core/errors/error-codes.ts';
import { useAsk, useOrganizationOfPage } from '../api/queries.ts';
import { ChipsInput } from '../forms/chips-input.tsx';
import { OptionalSelectField } from '../forms/choices.tsx';
import { Field, fieldsOf } from '../forms/field.tsx';
import { FormDialog } from '../forms/form-dialog.tsx';
import { MoneyField, NumberField } from '../forms/inputs.tsx';
import { type ComboboxChoice, MultiCombobox } from '../forms/multi-combobox.tsx';
import type { Url } from '../search/use-url.ts';

interface FilterDialogProps {
  readonly url: Url<ExploreState>;
  readonly onClose: () => void;
}

/** Every filter of the explorer. Values of one field are alternatives. */
export function FilterDialog({ url, onClose }: FilterDialogProps): ReactNode {
  const isOne = useOrganizationOfPage() !== undefined;
  const [draft, setDraft] = useState(url.search);
  const field = fieldsOf(draft, setDraft);
  const choices = useChoices(isOne);
  const lists = (Object.keys(LISTS) as ListName[]).filter((name) => name !== (isOne ? 'organization' : 'key'));
  return (
    <FormDialog
      title="Filter"
      description="Values of one field are alternatives, and all fields must match."
      submit="Apply"
      onSubmit={() => {
        const filters = Object.keys(exploreSearch.unfiltered).map((name) => [name, draft[name as keyof ExploreState]]);
        url.change(Object.fromEntries(filters) as Partial<ExploreState>, 'step');
        onClose();
      }}
      onClose={onClose}
    >
      {lists.map((name) => (
        <Field key={name} label={LISTS[name].label} hint={HINTS[name]}>
          {choices[name] === undefined ? (
            <ChipsInput
              {...field(name)}
              validate={(value) => (name === 'metadata' && !value.includes('=') ? 'Enter name=value.' : undefined)}
            />
          ) : (
            <MultiCombobox choices={choices[name]} {...field(name)} />
          )}
        </Field>
      ))}
      <OptionalSelectField
        label="Result"
        {...field('outcome')}
        none="All"
        choices={{ succeeded: 'Succeeded', failed: 'Failed' }}
      />
      <OptionalSelectField
        label="Streamed"
        {...field('streamed')}
        none="All"
        choices={{ yes: 'Streamed', no: 'Not streamed' }}
      />
      <MoneyField
        label="Minimum cost per request"
        value={draft.cost?.toString()}
        onChange={(next) => setDraft({ ...draft, cost: next === undefined ? undefined : Number(next) })}
      />
      <NumberField label="Minimum duration in milliseconds" {...field('duration')} />
    </FormDialog>
  );
}

const HINTS: Readonly<Partial<Record<ListName, string>>> = {
  user: 'The value of the member user in requests.',
  metadata: 'For example team=search.',
};

const CODES = Object.entries(ERROR_CODES).map(([value, { status }]) => ({ value, label: value, detail: `${status}` }));
const STATUSES = STATUS_CLASSES.map((value) => ({
  value,
  label: value === String(CLIENT_GONE_STATUS) ? `${value}: the client left` : value,
}));

/** Values to choose from. Absent: the user enters texts. */
function useChoices(isOne: boolean): Partial<Record<ListName, readonly ComboboxChoice[]>> {
  const keys = useAsk('GET /api/organizations/:organization/keys', {}, { enabled: isOne });
  const models = useAsk('GET /api/organizations/:organization/models', {}, { enabled: isOne });
  const mapping = useAsk('GET /api/mapping', {}, { enabled: !isOne });
  const others = useAsk('GET /api/organizations', {}, { enabled: !isOne });
  const idsOf = (rows: readonly { readonly id: string }[] = []) => rows.map(({ id }) => ({ value: id, label: id }));
  return {
    code: CODES,
    status: STATUSES,
    model: idsOf(isOne ? models.data?.models : mapping.data?.models),
    ...(isOne
      ? {
          key: (keys.data?.keys ?? []).map(({ id, name, last4 }) => ({ value: id, label: name, detail: `…${last4}` })),
        }
      : {
          provider: (mapping.data?.providers ?? []).map(({ name }) => ({ value: name, label: name })),
          organization: (others.data?.organizations ?? []).map(({ id, name }) => ({ value: id, label: name })),
        }),
  };
}
