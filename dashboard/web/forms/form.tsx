import { type FormEvent, lazy, type ReactNode, type RefObject, Suspense, useEffect, useId, useRef } from 'react';
import { isNewestForm, keepForm, useAsksForPassword, useAsksToSignIn } from '../api/form-prompts.ts';
import type { ApiProblem } from '../api/problem.ts';
import { Banner } from '../components/banner.tsx';
import styles from './form.module.css';

export interface FormProps {
  /**
   * For a submit button outside the form, such as in the footer of a dialog: `<Button type="submit"
   * form={id}>`.
   */
  readonly id?: string;
  /** Called only if the browser finds every field valid. */
  readonly onSubmit: () => void;
  /** Shown below the fields, unless the fields show it themselves. */
  readonly problem?: ApiProblem | null;
  /** False: no field shows a problem of its own. Default: true. */
  readonly hasFields?: boolean;
  readonly children: ReactNode;
}

export function Form({ id, onSubmit, problem, hasFields = true, children }: FormProps): ReactNode {
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => (problem ? showProblem(form) : undefined), [problem]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // A form in a dialog must not submit the form around it: React's events follow components, not
    // elements.
    event.stopPropagation();
    onSubmit();
  };
  return (
    <form ref={form} id={id} className={styles.form} onSubmit={submit}>
      {children}
      {problem &&
        problem.problem !== 'not_signed_in' &&
        problem.problem !== 'password_needed' &&
        !(hasFields && Object.keys(problem.fields).length > 0) && (
          <div data-problem>
            <Banner tone="bad">{problem.message}</Banner>
          </div>
        )}
      <FormGuards />
    </form>
  );
}

/** Scrolls to the problem in a long form, after closed sections have opened. */
function showProblem(form: RefObject<HTMLFormElement | null>): () => void {
  const frame = requestAnimationFrame(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
    form.current?.querySelector('[data-problem]')?.scrollIntoView({ block: 'nearest' });
  });
  return () => cancelAnimationFrame(frame);
}

/** Short fields side by side if they fit. */
export function FormRow({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className={styles.row}>{children}</div>;
}

export function FormButtons({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className={styles.buttons}>{children}</div>;
}

// Rarely needed.
const SignInAgain = lazy(() => import('./form-prompts.tsx').then((module) => ({ default: module.SignInAgain })));
const GivePassword = lazy(() => import('./form-prompts.tsx').then((module) => ({ default: module.GivePassword })));

/** Prompts over a form: to sign in again, or for the password. Nothing that was typed is lost. */
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
