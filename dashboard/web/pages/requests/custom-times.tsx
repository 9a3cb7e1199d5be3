import { type ReactNode, useEffect, useState } from 'react';
import { LocalDateTimeInput } from '../../forms/date-time-input.tsx';
import { Field } from '../../forms/field.tsx';
import styles from './requests.module.css';
import type { RequestsUrlState } from './requests-url.ts';

export type Times = Pick<RequestsUrlState, 'fromMs' | 'toMs'>;

export interface CustomTimesProps {
  readonly times: Times;
  readonly onChange: (times: Times) => void;
}

/** A half-typed year is also valid. */
const EARLIEST_MS = Date.UTC(2000, 0);

/**
 * From and to in the reader's zone. Invalid values stay in the boxes, and the list keeps the last
 * valid ones.
 */
export function CustomTimes({ times: { fromMs, toMs }, onChange }: CustomTimesProps): ReactNode {
  const [draft, setDraft] = useState<Times>({ fromMs, toMs });
  useEffect(() => setDraft({ fromMs, toMs }), [fromMs, toMs]);
  const problem = problemOf(draft);
  const change = (next: Times) => {
    setDraft(next);
    const given = [next.fromMs, next.toMs].filter((atMs) => atMs !== undefined);
    if (given.length > 0 && given.every((atMs) => atMs >= EARLIEST_MS) && problemOf(next) === undefined) onChange(next);
  };
  return (
    <div className={styles.times}>
      <Field label="From" hideLabel>
        <LocalDateTimeInput value={draft.fromMs} onChange={(next) => change({ ...draft, fromMs: next })} />
      </Field>
      <span aria-hidden="true">–</span>
      <Field label="To" hideLabel>
        <LocalDateTimeInput value={draft.toMs} onChange={(next) => change({ ...draft, toMs: next })} />
      </Field>
      <span role="alert" className={styles.problem}>
        {problem}
      </span>
    </div>
  );
}

function problemOf({ fromMs, toMs }: Times): string | undefined {
  return fromMs !== undefined && toMs !== undefined && fromMs >= toMs ? 'The end must be after the start.' : undefined;
}
