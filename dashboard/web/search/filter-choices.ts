import { useMemo } from 'react';
import { useAsk } from '../api/use-ask.ts';
import type { Choice } from '../forms/select.tsx';

/** Keys for a filter, revoked ones included. `chosen` is added even if it is unknown. */
export function useKeyChoices(organization: string, chosen: string | undefined): readonly Choice<string>[] {
  const { data } = useAsk('GET /api/organizations/:organization/keys', { params: { organization } });
  return useMemo(() => {
    const known = (data?.keys ?? []).map(({ id, name, last4 }) => ({ value: id, label: `${name} (…${last4})` }));
    return [{ value: '', label: 'All keys' }, ...withChosen(known, chosen)];
  }, [data, chosen]);
}

export function useModelChoices(organization: string, chosen: string | undefined): readonly Choice<string>[] {
  const { data } = useAsk('GET /api/organizations/:organization/models', { params: { organization } });
  return useMemo(() => {
    const known = (data?.models ?? []).map(({ id }) => ({ value: id, label: id }));
    return [{ value: '', label: 'All models' }, ...withChosen(known, chosen)];
  }, [data, chosen]);
}

function withChosen(known: readonly Choice<string>[], chosen: string | undefined): readonly Choice<string>[] {
  if (chosen === undefined || known.some(({ value }) => value === chosen)) return known;
  return [...known, { value: chosen, label: chosen }];
}
