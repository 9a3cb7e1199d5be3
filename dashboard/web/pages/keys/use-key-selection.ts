import { useState } from 'react';

export interface Selection {
  /** Ids of the selected keys. Absent: the page selects none. */
  readonly ids: ReadonlySet<string> | undefined;
  /** Selects these keys instead of those before. */
  readonly select: (ids: readonly string[]) => void;
  readonly toggle: (id: string, selected: boolean) => void;
  readonly end: () => void;
}

/** Selected keys. They stay selected when the filter of the list changes. */
export function useKeySelection(): Selection {
  const [ids, setIds] = useState<ReadonlySet<string>>();
  return {
    ids,
    select: (chosen) => setIds(new Set(chosen)),
    toggle: (id, selected) =>
      setIds((before = new Set()) => new Set(selected ? [...before, id] : [...before].filter((one) => one !== id))),
    end: () => setIds(undefined),
  };
}
