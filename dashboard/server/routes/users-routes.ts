import { z } from 'zod';
import { email, idOf, memberRole, text, yesOrNo } from '#contract/fields.ts';
import type { UserRow } from '#contract/operator.ts';
import { newId } from '#core/ids.ts';
import { pageOf } from '#core/page-of.ts';
import { present } from '#core/present.ts';
import { findUser, listUsers, type UserRecord } from '#database/users/user-rows.ts';
import { createUser, type KeysOfDisabled, setDisabled } from '#database/users/users.ts';
import { handOverPasswordLink } from '../alerts/link-mail.ts';
import { conflictingField, isProblem, notFound, type Problem, problem, wrongField } from '../http/problem.ts';
import { actorOf, type Route, route, type UserCall } from '../http/route.ts';
import { PASSWORDS_OFF } from '../sign-in/sign-in.ts';
import { ORGANIZATION_FULL } from './members-routes.ts';

const PAGE = 50;

export const USER_ROUTES: readonly Route[] = [
  route('GET /api/users', {
    access: 'operator',
    input: z.strictObject({ search: text(200).exactOptional(), after: email.exactOptional() }),
    async handle({ deps, input: { search, after } }) {
      const query = { ...present({ search, afterEmail: after }), limit: PAGE + 1 };
      const { rows, ...rest } = pageOf(await listUsers(deps.database, query), PAGE, ({ email }) => email);
      return { users: rows.map(rowOf), ...rest };
    },
  }),
  route('POST /api/users', {
    access: 'operator',
    needsFreshPassword: ({ operator }) => operator,
    input: z.strictObject({
      email,
      operator: yesOrNo,
      organizationId: idOf('org').exactOptional(),
      role: memberRole.exactOptional(),
    }),
    async handle(call) {
      const { deps, input } = call;
      const { operator, organizationId, role = 'owner' } = input;
      if (organizationId === undefined) {
        if (input.role !== undefined) return wrongField('role', 'A role needs an organization: choose one.');
        if (!operator) return wrongField('organizationId', 'Everyone except operators needs an organization.');
      }
      const id = newId('usr', deps.nowMs());
      const membership = organizationId === undefined ? {} : { membership: { organizationId, role } };
      const result = await createUser(
        deps.database,
        { id, email: input.email, isOperator: operator, ...membership },
        actorOf(call),
      );
      if (result.kind !== 'created') return NOT_CREATED[result.kind];
      const link = await handOverPasswordLink(call, { userId: id, purpose: 'invitation', email: input.email });
      return isProblem(link) ? link : { user: rowOf(result.user), link };
    },
  }),
  route('POST /api/users/:user/reset', {
    access: 'operator',
    needsFreshPassword: () => true,
    async handle(call) {
      const user = await findUser(call.deps.database, call.params.user);
      if (user === undefined) return notFound('user');
      if (!user.invited && !call.deps.settings().signIn.password) return PASSWORDS_OFF;
      const purpose = user.invited ? 'invitation' : 'reset';
      return handOverPasswordLink(call, { userId: user.id, purpose, email: user.email });
    },
  }),
  route('POST /api/users/:user/disablement', {
    access: 'operator',
    endsAccess: true,
    input: z.strictObject({ keepKeys: z.boolean().exactOptional() }),
    handle: async (call) =>
      call.params.user === call.session.user.id
        ? OWN_ACCOUNT
        : disable(call, call.params.user, true, call.input.keepKeys ? 'keep' : 'revoke'),
  }),
  route('DELETE /api/users/:user/disablement', {
    access: 'operator',
    handle: (call) => disable(call, call.params.user, false),
  }),
];

async function disable(
  call: UserCall,
  userId: string,
  disabled: boolean,
  keys?: KeysOfDisabled,
): Promise<UserRow | Problem> {
  const result = await setDisabled(call.deps.database, userId, disabled, actorOf(call), keys);
  if (result.kind === 'unknown_user') return notFound('user');
  return result.kind === 'last_operator' ? LAST_OPERATOR : rowOf(result.user);
}

const OWN_ACCOUNT = problem('conflict', 'You cannot disable your own account. Another operator can.');

/** Only if another operator, who disabled this one meanwhile, is to be disabled. */
const LAST_OPERATOR = problem(
  'conflict',
  'This is the last operator: nobody could enable users again. Invite another operator first.',
);

const NOT_CREATED = {
  email_taken: conflictingField('email', 'There is already a user with this email address.'),
  unknown_organization: wrongField('organizationId', 'There is no such organization.'),
  organization_full: ORGANIZATION_FULL,
};

function rowOf({ memberships, ...user }: UserRecord): UserRow {
  return {
    ...user,
    memberships: memberships.map(({ organizationId, name, role }) => ({ organizationId, name, role })),
  };
}
