import { useSyncExternalStore } from 'react';
import { hasForm } from './session-end.ts';

let answer: ((entered: boolean) => void) | undefined;
const listeners = new Set<() => void>();

function set(next: typeof answer): void {
  answer = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Resolves to whether the password was given, over the form on the screen. */
export function askForPassword(): Promise<boolean> {
  if (!hasForm()) return Promise.resolve(false);
  return new Promise((resolve) => set(resolve));
}

export function passwordGiven(entered: boolean): void {
  const tell = answer;
  set(undefined);
  tell?.(entered);
}

export function useAsksForPassword(): boolean {
  return useSyncExternalStore(subscribe, () => answer !== undefined);
}
