import { useQueryClient } from '@tanstack/react-query';
import { type Dispatch, type SetStateAction, useEffect, useState } from 'react';

/**
 * As useState, but the value is there again when the user comes back to the page. It is in the
 * query cache, which is only in memory and ends when the user signs out or another one signs in.
 */
export function useKeptState<Value>(
  key: readonly string[],
  initial: Value,
  restore: (kept: Value) => Value = (kept) => kept,
): [Value, Dispatch<SetStateAction<Value>>] {
  const client = useQueryClient();
  const [place] = useState(() => ['kept', ...key]);
  const [value, setValue] = useState(() => {
    const kept = client.getQueryData<Value>(place);
    return kept === undefined ? initial : restore(kept);
  });
  useEffect(() => {
    client.setQueryDefaults(place, { gcTime: Number.POSITIVE_INFINITY, structuralSharing: false });
    client.setQueryData(place, value);
  }, [client, place, value]);
  return [value, setValue];
}
