/** A setting as users see it. Forms, changes, labels and the audit log are derived from it. */
export interface Setting {
  /** Each form has a control of its own for `choice`, `list` and `instant`. */
  readonly kind: 'text' | 'count' | 'money' | 'yes-no' | 'choice' | 'list' | 'instant';
  /** Label in forms and in the audit log. */
  readonly label: string;
  /** The word for no value, such as `unlimited`. A setting with this word can be removed. */
  readonly none?: string | undefined;
  /** Value of an emptied setting that cannot be absent. */
  readonly default?: number | boolean;
  readonly hint?: string;
  /** Shown in an empty box. */
  readonly placeholder?: string;
  /** Maximum length of a text, or the largest number. */
  readonly max?: number;
  /** Flag of the command line. Only a count, an amount, and yes or no may have one. */
  readonly flag?: string;
  /** Label on the command line. Absent: `label`. */
  readonly flagLabel?: string;
  /** Short form of the value, such as `{} request(s) a minute`. Absent: it is not shown. */
  readonly brief?: string;
}

type IsOptional<Values, Name extends keyof Values> =
  Partial<Pick<Values, Name>> extends Pick<Values, Name> ? true : false;

/** Every setting of a record, in the order of display. A missing entry does not compile. */
export type Settings<Values> = {
  readonly [Name in keyof Values]-?: Setting &
    (IsOptional<Values, Name> extends true ? { readonly none: string } : { readonly none?: undefined });
};

/** A change of a record. Absent: unchanged. `null`: the value is removed. */
export type Change<Values> = {
  readonly [Name in keyof Values]?: Values[Name] | (IsOptional<Values, Name> extends true ? null : never);
};

export function changed<Values extends object>(before: Values, change: Change<Values>): Values {
  const after = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null);
  return Object.fromEntries(after) as Values;
}
