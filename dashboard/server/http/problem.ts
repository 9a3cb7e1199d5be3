import type { ProblemCode, ProblemView } from '#contract/api.ts';

export interface Problem {
  readonly kind: 'problem';
  readonly status: number;
  readonly view: ProblemView;
}

const STATUS = {
  invalid: 400,
  not_signed_in: 401,
  // Not 401, which asks to sign in: a signed-in user who changes the password may get this.
  wrong_password: 403,
  // The user is signed in, but gave the password too long ago.
  password_needed: 403,
  passwords_off: 403,
  issuer_refused: 403,
  identity_refused: 403,
  email_unverified: 403,
  no_account: 403,
  not_allowed: 403,
  cross_site: 403,
  not_found: 404,
  conflict: 409,
  account_has_password: 409,
  other_identity: 409,
  link_used_or_expired: 410,
  sign_in_expired: 410,
  too_large: 413,
  too_many_attempts: 429,
  too_many_requests: 429,
  internal: 500,
  unavailable: 503,
  issuer_unavailable: 503,
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

/** A dependency is unavailable or busy, and may respond again in some seconds. */
export function unavailable(message: string, retryAfterSeconds = 5): Problem {
  return problem('unavailable', message, { retryAfterSeconds });
}

/** Does not reveal whether it exists elsewhere. */
export function notFound(what: string): Problem {
  return problem('not_found', `There is no such ${what}.`);
}

/** The only wrong field. */
export function wrongField(field: string, message: string): Problem {
  return problem('invalid', message, { fields: { [field]: message } });
}

/** The request is well formed, but this field conflicts with the present state. */
export function conflictingField(field: string, message: string): Problem {
  return problem('conflict', message, { fields: { [field]: message } });
}
