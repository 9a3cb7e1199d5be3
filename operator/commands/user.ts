import { countOf } from '#core/count-of.ts';
import { normalizeEmail } from '#core/email-address.ts';
import { newToken } from '#dashboard/server/sign-in/session-token.ts';
import { removeIdentities } from '#database/sign-in/identities.ts';
import { createPasswordLink } from '#database/sign-in/password-links.ts';
import { MAX_MEMBERS } from '#database/users/membership-rows.ts';
import { findUserByEmail, listUsers, type UserRecord } from '#database/users/user-rows.ts';
import { type KeysOfDisabled, setDisabled } from '#database/users/users.ts';
import type { FlagSpec } from '../command-line/arguments.ts';
import {
  type Command,
  flaglessCommand,
  idProblem,
  onDatabase,
  operatorHere,
  unknown,
} from '../command-line/command.ts';
import type { Pool } from '../command-line/database.ts';
import type { ValueReader } from '../command-line/flag-values.ts';
import { type Result, refused } from '../command-line/result.ts';
import { table } from '../command-line/table.ts';
import { createUserWithPassword, resetPassword, userJson, userState } from '../records/users.ts';

const create: Command = {
  name: 'user create',
  summary: 'Create a user of the dashboard and show the password once.',
  flags: [
    { name: 'email', value: 'E', required: true },
    { name: 'org', value: 'ID' },
    { name: 'operator' },
    { name: 'role', value: 'owner|member' },
  ],
  async run(call) {
    if (call.flags.has('role') && !call.flags.has('org')) {
      return { kind: 'usage', message: '--role is what the user is in an organization: it needs --org ID.' };
    }
    if (call.flags.has('operator') && call.flags.has('org')) {
      const message = '--org and --operator exclude each other: an operator has every right in every organization.';
      return { kind: 'usage', message };
    }
    const organizationId = call.flags.get('org');
    const problem = organizationId === undefined ? undefined : idProblem('org', organizationId);
    if (problem) return problem;
    return onDatabase(
      call,
      (values) => ({
        email: values.email('email') ?? '',
        isOperator: values.isOn('operator') ?? false,
        role: values.oneOf('role', ['owner', 'member']) ?? ('owner' as const),
      }),
      async (pool, { email, isOperator, role }) => {
        const membership = organizationId === undefined ? {} : { membership: { organizationId, role } };
        // The person who runs the command sees the password.
        const user = { email, isOperator, passwordHandedOut: true, ...membership } as const;
        const outcome = await createUserWithPassword(pool, user, operatorHere());
        switch (outcome.kind) {
          case 'email_taken':
            return refused(`The user ${email} exists already.`);
          case 'unknown_organization':
            return unknown('org', organizationId ?? '');
          case 'organization_full':
            return refused(`An organization has at most ${MAX_MEMBERS} members.`);
          case 'created':
            return withPassword(outcome.user, outcome.password);
        }
      },
    );
  },
};

const list = flaglessCommand('user list', 'List all users by e-mail address.', [], async (pool) => {
  const users = await everybody(pool);
  const rows = users.map((user) => [user.email, userState(user), rights(user), user.id]);
  return {
    kind: 'done',
    json: { users: users.map(userJson) },
    text: rows.length === 0 ? 'There are no users.' : table([['E-MAIL', 'STATE', 'RIGHTS', 'ID'], ...rows]),
  };
});

const reset = onUser(
  'user reset-password',
  'Set a new random password, show it once, and end all sessions of the user.',
  async (pool, email) => {
    const done = await resetPassword(pool, email, operatorHere());
    return done && withPassword(done.user, done.password);
  },
);

const disable = onUser(
  'user disable',
  'End all sessions of a user, refuse new ones, and revoke the keys of the user unless --keep-keys is given.',
  (pool, email, values) => disableOrEnable(pool, email, true, values.isOn('keep-keys') ? 'keep' : 'revoke'),
  [{ name: 'keep-keys' }],
);

const enable = onUser('user enable', 'Let a disabled user sign in again.', (pool, email) =>
  disableOrEnable(pool, email, false),
);

/** Access if passwords are off, or if the issuer does not respond. */
const link = onUser(
  'user sign-in-link',
  'Make a link that signs in as the user once, within 15 minutes, and show it once.',
  async (pool, email) => {
    const user = await findUserByEmail(pool, email);
    if (!user) return undefined;
    const { token, tokenHash } = newToken();
    const made = await createPasswordLink(pool, { userId: user.id, purpose: 'sign_in', tokenHash }, operatorHere());
    if (made.kind !== 'created') return refused(`${email} is disabled.`);
    const path = `/link#${token}`;
    return {
      kind: 'done',
      json: { id: user.id, email, path, expires_at: new Date(made.expiresAtMs).toISOString() },
      text: `${path}\n\nOpen it behind the dashboard's address within 15 minutes: it signs in as ${email}, once.`,
    };
  },
);

const unbind = onUser(
  'user unbind',
  'Unbind a user from the account at the issuer, and end all sessions. The next sign-in there binds the user again.',
  async (pool, email) => {
    const user = await findUserByEmail(pool, email);
    if (!user) return undefined;
    const removed = await removeIdentities(pool, user.id, operatorHere());
    return {
      kind: 'done',
      json: { id: user.id, email, unbound: removed },
      text: removed === 0 ? `${email} is bound to no issuer.` : `${email} is unbound.`,
    };
  },
);

export const USER_COMMANDS: readonly Command[] = [create, list, reset, disable, enable, link, unbind];

/** `change` returns `undefined` if the user does not exist. */
function onUser(
  name: string,
  summary: string,
  change: (pool: Pool, email: string, values: ValueReader) => Promise<Result | undefined>,
  flags: readonly FlagSpec[] = [],
): Command {
  return {
    name,
    summary,
    positionals: ['EMAIL'],
    flags,
    async run(call) {
      const [given = ''] = call.positionals;
      const email = normalizeEmail(given);
      const nobody = refused(`There is no user ${JSON.stringify(given)}.`);
      if (email === undefined) return nobody;
      return onDatabase(
        call,
        (values) => values,
        async (pool, values) => (await change(pool, email, values)) ?? nobody,
      );
    },
  };
}

async function disableOrEnable(
  pool: Pool,
  email: string,
  disabled: boolean,
  keys?: KeysOfDisabled,
): Promise<Result | undefined> {
  const found = await findUserByEmail(pool, email);
  const result = found && (await setDisabled(pool, found.id, disabled, operatorHere(), keys));
  switch (result?.kind) {
    case 'last_operator':
      return refused(`${email} is the last operator who can sign in: make another first (user create --operator).`);
    case 'done':
      return {
        kind: 'done',
        json: { ...userJson(result.user), ...(disabled ? { revoked_keys: result.revokedKeys } : {}) },
        text: [
          `${email} is ${userState(result.user)} now.`,
          ...(result.revokedKeys > 0 ? [`${countOf(result.revokedKeys, 'key was', 'keys were')} revoked.`] : []),
        ].join(' '),
      };
    default:
      return undefined;
  }
}

function withPassword(user: UserRecord, password: string): Result {
  const { id, email } = user;
  const lines = table([
    ['id', id],
    ['e-mail', email],
    ['rights', rights(user)],
    ['password', password],
  ]);
  return {
    kind: 'done',
    json: { id, email, password },
    text: `${lines}\n\nThe password is not shown again. The dashboard asks the user to choose another one.`,
  };
}

const PAGE = 500;

async function everybody(pool: Pool): Promise<readonly UserRecord[]> {
  const users: UserRecord[] = [];
  for (;;) {
    const last = users.at(-1);
    const page = await listUsers(pool, { limit: PAGE, ...(last ? { afterEmail: last.email } : {}) });
    users.push(...page);
    if (page.length < PAGE) return users;
  }
}

function rights({ isOperator, memberships }: UserRecord): string {
  const all = memberships.map(({ organizationId, role }) => `${role} of ${organizationId}`);
  return (isOperator ? ['operator', ...all] : all).join(', ') || 'none until invited to an organization';
}
