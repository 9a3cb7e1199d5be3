import { useSyncExternalStore } from 'react';

/** Forms on the screen, the newest last. */
let forms: readonly string[] = [];
let ended = false;
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Until the returned function is called. */
export function keepForm(id: string): () => void {
  forms = [...forms, id];
  return () => {
    forms = forms.filter((form) => form !== id);
  };
}

/** `false`: nobody is typing anything, and the page may be left. Otherwise the form asks to sign in again. */
export function askInForm(): boolean {
  if (forms.length === 0) return false;
  ended = true;
  tell();
  return true;
}

export function sessionGoesOn(): void {
  ended = false;
  tell();
}

export function hasForm(): boolean {
  return forms.length > 0;
}

/** True for the form over which something is asked. */
export function isNewestForm(id: string): boolean {
  return forms.at(-1) === id;
}

/** Whether this form is the one that asks. */
export function useAsksToSignIn(id: string): boolean {
  return useSyncExternalStore(subscribe, () => ended && isNewestForm(id));
}
