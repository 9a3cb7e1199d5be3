import { PROBLEM_STATUS, type ProblemCode, type ProblemView } from '#contract/api.ts';

export interface Problem {
  readonly kind: 'problem';
  readonly status: number;
  readonly view: ProblemView;
}

export function problem(
  code: ProblemCode,
  message: string,
  more: Pick<ProblemView, 'fields' | 'retryAfterSeconds'> = {},
): Problem {
  return { kind: 'problem', status: PROBLEM_STATUS[code], view: { problem: code, message, ...more } };
}

export function isProblem(value: object): value is Problem {
  return 'kind' in value && value.kind === 'problem';
}

/** A dependency is unavailable or busy. It may respond again within seconds. */
export function unavailable(message: string, retryAfterSeconds = 5): Problem {
  return problem('unavailable', message, { retryAfterSeconds });
}

/**
 * Refuses a call that got no place (fairness/places.ts). `own` is the message if the user or the
 * organization has all of its places in use, `ofAll` if everyone together has.
 */
export function tooManyPlaces(own: string, ofAll: string) {
  return ({ isOwnFault }: { readonly isOwnFault: boolean }): Problem =>
    isOwnFault ? problem('too_many_requests', own, { retryAfterSeconds: 5 }) : unavailable(ofAll);
}

/** Does not reveal whether the object exists in another organization. */
export function notFound(what: string): Problem {
  return problem('not_found', `There is no such ${what}.`);
}

export function wrongField(field: string, message: string): Problem {
  return problem('invalid', message, { fields: { [field]: message } });
}

/** The request is well formed, but this field conflicts with the current state. */
export function conflictingField(field: string, message: string): Problem {
  return problem('conflict', message, { fields: { [field]: message } });
}
