import { lazy, type ReactNode, Suspense, useEffect, useId } from 'react';
import { isNewestForm, keepForm, useAsksForPassword, useAsksToSignIn } from '../api/form-prompts.ts';

// Hardly ever needed.
const SignInAgain = lazy(() => import('./form-prompts.tsx').then((module) => ({ default: module.SignInAgain })));
const GivePassword = lazy(() => import('./form-prompts.tsx').then((module) => ({ default: module.GivePassword })));

/** Asks over a form, so that nothing typed into it is lost: to sign in again, or for the password. Stands inside the form. */
export function FormGuards(): ReactNode {
  const id = useId();
  useEffect(() => keepForm(id), [id]);
  const asksToSignIn = useAsksToSignIn(id);
  const asksForPassword = useAsksForPassword();
  return (
    <Suspense>
      {asksToSignIn && <SignInAgain />}
      {asksForPassword && !asksToSignIn && isNewestForm(id) && <GivePassword />}
    </Suspense>
  );
}
