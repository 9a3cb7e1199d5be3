import { type ReactNode, useEffect, useState } from 'react';
import { Select } from '../forms/choices.tsx';
import { LocalDateTimeInput } from '../forms/date-inputs.tsx';
import { Field } from '../forms/field.tsx';
import type { Url } from '../search/use-url.ts';
import { spanOf, type TimeState } from './explore-search.ts';

interface TimeChoiceProps<Range extends string> {
  readonly url: Pick<Url<TimeState<Range>>, 'search' | 'change'>;
  readonly ranges: Readonly<Record<Range, string>>;
  /** The range if the address has no time. */
  readonly usual: Range;
}

/** A half-typed year is also valid. */
const EARLIEST_MS = Date.UTC(2000, 0);

/** A range, or from and to in the reader's zone. What is wrong stays in the boxes alone. */
export function TimeChoice<Range extends string>({ url, ranges, usual }: TimeChoiceProps<Range>): ReactNode {
  const { search, change } = url;
  const { range = usual, fromMs, toMs } = search;
  const isCustom = fromMs !== undefined || toMs !== undefined;
  const [draft, setDraft] = useState<TimeState>({ fromMs, toMs });
  useEffect(() => setDraft({ fromMs, toMs }), [fromMs, toMs]);
  const choose = (next: string) =>
    change(
      next === 'custom'
        ? { range: undefined, ...spanOf({ range }, Date.now()) }
        : { range: next as Range, fromMs: undefined, toMs: undefined },
    );
  const isWrong = (draft.fromMs ?? 0) >= (draft.toMs ?? Number.POSITIVE_INFINITY);
  const edit = (next: TimeState) => {
    setDraft(next);
    const given = [next.fromMs, next.toMs].filter((atMs) => atMs !== undefined);
    const isRight = given.length > 0 && given.every((atMs) => atMs >= EARLIEST_MS);
    const { fromMs: startMs = 0, toMs: endMs = Number.POSITIVE_INFINITY } = next;
    if (isRight && startMs < endMs) change({ fromMs: next.fromMs, toMs: next.toMs });
  };
  return (
    <>
      <Select
        label="Time"
        value={isCustom ? 'custom' : range}
        onChange={choose}
        choices={{ ...ranges, custom: 'Custom' }}
      />
      {isCustom && (
        <div className="row">
          <Field label="From" hideLabel>
            <LocalDateTimeInput value={draft.fromMs} onChange={(next) => edit({ ...draft, fromMs: next })} />
          </Field>
          <span aria-hidden="true">–</span>
          <Field label="To" hideLabel>
            <LocalDateTimeInput value={draft.toMs} onChange={(next) => edit({ ...draft, toMs: next })} />
          </Field>
          <span role="alert" className="bad small">
            {isWrong && 'The end must be after the start.'}
          </span>
        </div>
      )}
    </>
  );
}
