import { type FormEvent, lazy, type ReactNode, type RefObject, Suspense, useEffect, useId, useRef } from 'react';
import { isNewestForm, keepForm, useAsksForPassword, useAsksToSignIn } from '../api/form-prompts.ts';
import type { ApiProblem } from '../api/problem.ts';
import { Banner } from '../components/banner.tsx';
import styles from './form.module.css';

export interface FormProps {
  /** For a submit button outside it, such as in a dialog's footer: `<Button type="submit" form={id}>`. */
  readonly id?: string;
  /** Called only when the browser found every field valid. */
  readonly onSubmit: () => void;
  /** Shown above the buttons, unless it is only about fields that show it themselves. */
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
    // A form in a dialog must not submit the form around the dialog: React's events follow components, not elements.
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

/** A long form may have been scrolled away from what the server found wrong. Sections that open for it do so first. */
function showProblem(form: RefObject<HTMLFormElement | null>): () => void {
  const frame = requestAnimationFrame(() => {
    form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
    form.current?.querySelector('[data-problem]')?.scrollIntoView({ block: 'nearest' });
  });
  return () => cancelAnimationFrame(frame);
}

/** Short fields side by side where there is room. */
export function FormRow({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className={styles.row}>{children}</div>;
}

export function FormButtons({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className={styles.buttons}>{children}</div>;
}

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
