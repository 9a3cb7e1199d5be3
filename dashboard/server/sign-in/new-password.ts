import { type Problem, wrongField } from '../http/problem.ts';
import { hashPassword } from './password.ts';
import { MAX_PASSWORD, MIN_PASSWORD, type PasswordProblem, passwordProblem } from './password-rules.ts';
import { BUSY } from './sign-in.ts';

const MESSAGE: Readonly<Record<PasswordProblem, string>> = {
  too_short: `At least ${MIN_PASSWORD} characters.`,
  too_long: `At most ${MAX_PASSWORD} characters.`,
  is_email: 'Do not use your email address.',
  too_common: 'This is one of the most common passwords.',
};

/** Checks and hashes a user's new password. `field` is the form field for the message. */
export async function newPasswordHash(
  password: string,
  email: string,
  field: string,
): Promise<{ readonly hash: string } | Problem> {
  const objection = passwordProblem(password, email);
  if (objection) return wrongField(field, MESSAGE[objection]);
  const hash = await hashPassword(password);
  return hash === 'busy' ? BUSY : { hash };
}
