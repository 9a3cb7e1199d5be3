import { type FormEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from 'react';
import type { ApiProblem } from '../api/api.ts';
import { useFormPrompt } from '../api/form-prompts.ts';
import { Button, type ButtonTone } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import { loadedLater } from '../components/loaded-later.tsx';
import { Banner } from '../components/panels.tsx';
import styles from './form.module.css';

// Loaded later, because it is rarely needed.
const FormPrompt = loadedLater(() => import('./form-prompts.tsx').then((module) => module.FormPrompt));

export interface FormProps {
  /** Id for a submit button elsewhere, such as in a footer: `<Button type="submit" form={id}>`. */
  readonly id?: string;
  /** Called only if the browser finds every field valid. */
  readonly onSubmit: () => void;
  /** The form's useSend request. Its problem is shown below the fields, unless these show it. */
  readonly sending?: { readonly isPending: boolean; readonly error: ApiProblem | null } | undefined;
  /** Label of the action, such as `Save`. Absent: the button is elsewhere. */
  readonly submit?: string;
  readonly tone?: ButtonTone;
  /** Another button before the submit button. */
  readonly beside?: ReactNode;
  /** False: no field shows problems. Default: true. */
  readonly hasFields?: boolean;
  readonly children?: ReactNode;
}

export function Form(props: FormProps): ReactNode {
  const { id, onSubmit, sending, submit: action, tone = 'primary', beside, hasFields = true, children } = props;
  const problem = sending?.error;
  const prompt = useFormPrompt();
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => (problem ? showProblem(form) : undefined), [problem]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // Keeps a form in a dialog from submitting the form around it, because React's events follow
    // components instead of elements.
    event.stopPropagation();
    onSubmit();
  };
  return (
    <form ref={form} id={id} className={styles.form} onSubmit={submit}>
      {children}
      {action && (
        <div className="row">
          {beside}
          <Button type="submit" tone={tone} busy={sending?.isPending ?? false}>
            {action}
          </Button>
        </div>
      )}
      {problem &&
        problem.problem !== 'not_signed_in' &&
        problem.problem !== 'password_needed' &&
        !(hasFields && Object.keys(problem.fields).length > 0) && (
          <div data-problem>
            <Banner tone="bad">{problem.message}</Banner>
          </div>
        )}
      {prompt && <FormPrompt asks={prompt} />}
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

/** Places short fields side by side if they fit. */
export function FormRow({ children }: { readonly children: ReactNode }): ReactNode {
  return <div className={styles.row}>{children}</div>;
}

interface FormSectionProps {
  readonly title: string;
  /** Current values, shown while the section is closed. */
  readonly summary: string;
  /** True if a field in the section is invalid. The section then stays open. */
  readonly hasProblem: boolean;
  readonly children: ReactNode;
}

/** An optional section of a form. Opens by itself if the browser finds an invalid field in it. */
export function FormSection({ title, summary, hasProblem, children }: FormSectionProps): ReactNode {
  const [open, setOpen] = useState(false);
  const isOpen = open || hasProblem;
  return (
    <details
      className={styles.section}
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      onInvalidCapture={() => setOpen(true)}
    >
      <summary className={styles.head}>
        <Icon name="chevronRight" className={styles.arrow} />
        <span className={styles.title}>{title}</span>
        <span className={styles.summary}>{summary}</span>
      </summary>
      <div className={styles.body}>{children}</div>
    </details>
  );
}
