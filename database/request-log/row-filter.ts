import type { RequestFilter } from '#contract/request-log.ts';

/** The fields of a filter that a row matches or not. Times and ids choose the range instead. */
export type RowFilter = Omit<RequestFilter, 'search' | 'fromMs' | 'toMs'>;

/**
 * SQL for each field: true where a row matches the parameter, or where the parameter is null. A
 * field without its condition does not compile. A table that lacks the column has no match for any
 * value: `(parameter) => \`${parameter} is null\``.
 */
export type FilterConditions = Readonly<Record<keyof RowFilter, (parameter: string) => string>>;

const fieldsOf = (conditions: FilterConditions) => Object.keys(conditions).toSorted() as (keyof RowFilter)[];

/** The condition on all fields. `firstParameter` is the number of the first value. */
export function filterSql(conditions: FilterConditions, firstParameter: number): string {
  return fieldsOf(conditions)
    .map((field, index) => `(${conditions[field](`$${firstParameter + index}`)})`)
    .join(' and ');
}

/** Values for `filterSql`, in its order. */
export function filterValues(conditions: FilterConditions, filter: RowFilter): readonly unknown[] {
  return fieldsOf(conditions).map((field) => filter[field] ?? null);
}
