import type { ProblemCode, ProblemView } from '../../contract/api.ts';

/** A refused request of the page. A value, like every refusal. */
export interface Problem {
  readonly kind: 'problem';
  readonly status: number;
  readonly view: ProblemView;
}

const STATUS = {
  invalid: 400,
  not_signed_in: 401,
  // Not 401, which says to sign in: this may be somebody who is signed in and changes his password.
  wrong_password: 403,
  // Signed in, and too long ago for this.
  password_needed: 403,
  not_allowed: 403,
  cross_site: 403,
  not_found: 404,
  conflict: 409,
  link_used_or_expired: 410,
  too_large: 413,
  too_many_attempts: 429,
  too_many_requests: 429,
  internal: 500,
  unavailable: 503,
} as const satisfies Record<ProblemCode, number>;

export function problem(
  code: ProblemCode,
  message: string,
  more: Pick<ProblemView, 'fields' | 'retryAfterSeconds'> = {},
): Problem {
  return { kind: 'problem', status: STATUS[code], view: { problem: code, message, ...more } };
}

export function isProblem(value: object): value is Problem {
  return 'kind' in value && value.kind === 'problem';
}

/** A part that is away or busy, and may answer again in some seconds. */
export function unavailable(message: string, retryAfterSeconds = 5): Problem {
  return problem('unavailable', message, { retryAfterSeconds });
}

/** Says nothing about whether it exists for somebody else. */
export function notFound(what: string): Problem {
  return problem('not_found', `There is no such ${what}.`);
}

/** The one field that is wrong. */
export function wrongField(field: string, message: string): Problem {
  return problem('invalid', message, { fields: { [field]: message } });
}

/** Well formed, but it cannot be as things stand, because of this field. */
export function conflictingField(field: string, message: string): Problem {
  return problem('conflict', message, { fields: { [field]: message } });
}
