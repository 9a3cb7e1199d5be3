import type { ReactNode } from 'react';
import { useAsk } from '../api/use-ask.ts';
import { type Choice, FilterSelect } from '../forms/select.tsx';

export interface OrganizationFilterProps {
  readonly organization: string;
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

/** A filter by one of the organization's keys, revoked ones included. */
export function KeyFilter({ organization, value, onChange }: OrganizationFilterProps): ReactNode {
  const { data } = useAsk('GET /api/organizations/:organization/keys', { params: { organization } });
  const keys = (data?.keys ?? []).map(({ id, name, last4 }) => ({ value: id, label: `${name} (…${last4})` }));
  return (
    <FilterSelect label="Key" all="All keys" value={value} onChange={onChange} choices={withChosen(keys, value)} />
  );
}

export function ModelFilter({ organization, value, onChange }: OrganizationFilterProps): ReactNode {
  const { data } = useAsk('GET /api/organizations/:organization/models', { params: { organization } });
  const models = (data?.models ?? []).map(({ id }) => ({ value: id, label: id }));
  return (
    <FilterSelect
      label="Model"
      all="All models"
      value={value}
      onChange={onChange}
      choices={withChosen(models, value)}
    />
  );
}

/** A link may name a key or model that the list does not have. */
function withChosen(known: readonly Choice<string>[], chosen: string | undefined): readonly Choice<string>[] {
  if (chosen === undefined || known.some(({ value }) => value === chosen)) return known;
  return [...known, { value: chosen, label: chosen }];
}
