import { useState } from 'react';

/** A choice that this browser keeps. `read` judges what a former release may have stored. */
export function useKept<Value>(
  name: string,
  read: (stored: unknown) => Value,
): readonly [value: Value, keep: (value: Value) => void] {
  const [value, setValue] = useState(() => read(stored(name)));
  const keep = (next: Value) => {
    setValue(next);
    try {
      localStorage.setItem(name, JSON.stringify(next));
    } catch {
      // Without storage the choice lasts as long as the page.
    }
  };
  return [value, keep];
}

function stored(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(name) ?? 'null');
  } catch {
    return undefined;
  }
}
