import { useSyncExternalStore } from 'react';

/** A value outside of the components, which follow it. */
export interface Shared<Value> {
  get(): Value;
  set(next: Value): void;
  /** Calls back after each change until the returned function is called. */
  follow(listener: () => void): () => void;
  use<Seen>(read: (value: Value) => Seen): Seen;
}

export function shared<Value>(first: Value): Shared<Value> {
  let value = first;
  const listeners = new Set<() => void>();
  const follow = (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  return {
    get: () => value,
    set(next) {
      if (Object.is(value, next)) return;
      value = next;
      for (const listener of listeners) listener();
    },
    follow,
    use: (read) => useSyncExternalStore(follow, () => read(value)),
  };
}
