import { useEffect, useId, useSyncExternalStore } from 'react';

/** Ids of the forms on the screen, newest last. */
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

/** The prompt to show over the caller's form, if that is the newest one on the screen. */
export function useFormPrompt(): 'sign-in' | 'password' | undefined {
  const id = useId();
  useEffect(() => {
    forms = [...forms, id];
    return () => {
      forms = forms.filter((form) => form !== id);
    };
  }, [id]);
  return useSyncExternalStore(subscribe, () => {
    if (forms.at(-1) !== id) return undefined;
    if (hasSessionEnded) return 'sign-in';
    return answerPassword && 'password';
  });
}

/** Prompts for a sign-in over the newest form. `false`: there is none, and the page may be left. */
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

/** Prompts for the password over the newest form. `false`: there is none, or it was not entered. */
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
