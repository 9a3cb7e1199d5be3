/** A setting as people see it. Forms, changes, labels and the audit log follow from it. */
export interface Setting {
  /** `choice`, `list` and `instant` have a control of their own in each form. */
  readonly kind: 'text' | 'count' | 'money' | 'yes-no' | 'choice' | 'list' | 'instant';
  /** In forms and in the audit log. */
  readonly label: string;
  /** The word for no value: `unlimited`. A setting that has it can be removed. */
  readonly none?: string | undefined;
  readonly hint?: string;
  /** Shown in an empty box. */
  readonly placeholder?: string;
  /** Most characters of a text, or the largest number. */
  readonly max?: number;
  /** The value in few words: `{} request(s) a minute`. Absent: not said. */
  readonly brief?: string;
}

type IsOptional<Values, Name extends keyof Values> =
  Partial<Pick<Values, Name>> extends Pick<Values, Name> ? true : false;

/** Every setting of a record, in the order of display. One without its entry does not compile. */
export type Settings<Values> = {
  readonly [Name in keyof Values]-?: Setting &
    (IsOptional<Values, Name> extends true ? { readonly none: string } : { readonly none?: undefined });
};

/** A change of a record. Absent: unchanged. `null`: no value any longer. */
export type Change<Values> = {
  readonly [Name in keyof Values]?: Values[Name] | (IsOptional<Values, Name> extends true ? null : never);
};
