import { useSyncExternalStore } from 'react';

/** Ids of the forms on the screen, the newest last. */
let forms: readonly string[] = [];
let hasSessionEnded = false;
let answerPassword: ((entered: boolean) => void) | undefined;
const listeners = new Set<() => void>();

function notify(): void {
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Registers a form until the returned function is called. */
export function keepForm(id: string): () => void {
  forms = [...forms, id];
  return () => {
    forms = forms.filter((form) => form !== id);
  };
}

/** True for the form over which something is asked. */
export function isNewestForm(id: string): boolean {
  return forms.at(-1) === id;
}

/**
 * Asks to sign in again over the newest form. `false` without a form: the page may then be left.
 */
export function askInForm(): boolean {
  if (forms.length === 0) return false;
  hasSessionEnded = true;
  notify();
  return true;
}

export function sessionGoesOn(): void {
  hasSessionEnded = false;
  notify();
}

export function useAsksToSignIn(id: string): boolean {
  return useSyncExternalStore(subscribe, () => hasSessionEnded && isNewestForm(id));
}

/**
 * Asks over the newest form. Resolves to whether the password was given; `false` at once without a
 * form.
 */
export function askForPassword(): Promise<boolean> {
  if (forms.length === 0) return Promise.resolve(false);
  return new Promise((resolve) => {
    answerPassword = resolve;
    notify();
  });
}

export function passwordGiven(entered: boolean): void {
  const answer = answerPassword;
  answerPassword = undefined;
  notify();
  answer?.(entered);
}

export function useAsksForPassword(): boolean {
  return useSyncExternalStore(subscribe, () => answerPassword !== undefined);
}
