import { type ReactNode, useState } from 'react';
import type { OrganizationLimits } from '#contract/organization.ts';
import { ORGANIZATION_SETTINGS } from '#contract/shown-settings.ts';
import { useAsk } from '../api/queries.ts';
import { OptionalSelectField } from '../forms/choices.tsx';
import type { BoundField } from '../forms/field.tsx';
import { FormRow } from '../forms/form.tsx';
import { SettingField, type SettingFieldProps } from '../forms/setting-field.tsx';

type LimitName = keyof OrganizationLimits;
/** Limits side by side. Each other one has a row of its own. */
const PAIRS: readonly (readonly LimitName[])[] = [
  ['requestsPerMinute', 'tokensPerMinute'],
  ['dailyBudgetNanoUsd', 'maxTokens'],
];
const { name: _, priceList: _list, ...LIMITS } = ORGANIZATION_SETTINGS;
const OTHERS = (Object.keys(LIMITS) as LimitName[]).filter((name) => !PAIRS.flat().includes(name));
const ROWS = [...PAIRS, ...OTHERS.map((name) => [name])];

export function LimitFields({
  field,
}: {
  readonly field: (name: LimitName) => Omit<SettingFieldProps, 'of'>;
}): ReactNode {
  return ROWS.map((row) => (
    <FormRow key={row.join()}>
      {row.map((name) => (
        <SettingField key={name} of={ORGANIZATION_SETTINGS[name]} {...field(name)} />
      ))}
    </FormRow>
  ));
}

/** Shown if the configuration has price lists, or the organization has one. */
export function PriceListField(bound: BoundField<string | undefined>): ReactNode {
  const { data } = useAsk('GET /api/price-lists', {});
  const [given] = useState(bound.value);
  const lists = [...new Set([...(data?.priceLists ?? []), ...(given === undefined ? [] : [given])])];
  if (lists.length === 0) return null;
  const labelOf = (list: string) =>
    data?.priceLists.includes(list) === false ? `${list} (not in the configuration)` : list;
  return (
    <OptionalSelectField
      {...bound}
      label={ORGANIZATION_SETTINGS.priceList.label}
      hint={ORGANIZATION_SETTINGS.priceList.hint}
      none="None (model prices)"
      choices={lists.map((list) => ({ value: list, label: labelOf(list) }))}
    />
  );
}
