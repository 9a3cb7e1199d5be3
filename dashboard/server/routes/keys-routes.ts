import { z } from 'zod';
import { textField } from '#contract/fields.ts';
import {
  type KeyChange,
  type KeyView,
  keyChange,
  keyReplacement,
  keyRestrictions,
  severalKeys,
} from '#contract/keys.ts';
import { HOUR_MS } from '#core/clock.ts';
import { csvLines } from '#core/csv-lines.ts';
import { isInGroup, KEY_GROUPS, matchesSearch } from '#core/key-filter.ts';
import { newKeySecret } from '#core/key-secret.ts';
import { present } from '#core/present.ts';
import { databaseClock } from '#database/connection/database-clock.ts';
import { replaceKey, updateKey } from '#database/keys/key-changes.ts';
import type { KeyRecord } from '#database/keys/key-records.ts';
import { createKey, findKey } from '#database/keys/key-rows.ts';
import { KEY_CSV_COLUMNS, type ListedKey, readKeyTable } from '#database/keys/key-table.ts';
import { revokeKey, revokeKeys } from '#database/keys/revoke-keys.ts';
import type { Database } from '../fairness/stores.ts';
import { notFound, type Problem, problem } from '../http/problem.ts';
import { actorOf, csvRoute, type OrganizationCall, type Route, route } from '../http/route.ts';
import { storedAmounts } from './amounts.ts';
import { aboveOrganization, checkExpiry, checkModels, checkRoom } from './key-rules.ts';
import { keyView, keyViews, mayManage } from './key-view.ts';

/**
 * The longest list of networks has 9 KB, and one of 200 model ids of 25 characters 5 KB: a step of
 * such keys is below 4 MB.
 */
const CSV_STEP_ROWS = 250;

const keyFilter = z.strictObject({
  show: z.enum(KEY_GROUPS, { error: `One of: ${KEY_GROUPS.join(', ')}.` }).default('all'),
  search: textField.exactOptional(),
});

type KeyCall = OrganizationCall & { readonly params: { readonly key: string } };

export const KEY_ROUTES: readonly Route[] = [
  route('GET /api/organizations/:organization/keys', {
    access: 'member',
    handle: async (call) => ({ keys: await keyViews(call) }),
  }),
  route('POST /api/organizations/:organization/keys', {
    access: 'member',
    input: keyRestrictions,
    async handle(call) {
      const { deps, organizationId, input } = call;
      const wrong = checkExpiry(call, input) ?? (await checkModels(deps, input.models)) ?? (await checkRoom(call));
      if (wrong) return wrong;
      const { secret, identity } = newKeySecret(deps.nowMs());
      const settings = { organizationId, ...storedAmounts(input), ...identity };
      const result = await createKey(deps.database, settings, actorOf(call));
      if (result.kind === 'unknown_organization') return notFound('organization');
      if (result.kind === 'above_organization') return aboveOrganization(result);
      return { key: await keyView(call, result.key), secret };
    },
  }),
  route('GET /api/organizations/:organization/keys/:key', {
    access: 'member',
    async handle(call) {
      const key = await findKey(call.deps.database, call.organizationId, call.params.key);
      return key === undefined ? notFound('key') : keyView(call, key);
    },
  }),
  route('PATCH /api/organizations/:organization/keys/:key', {
    access: 'member',
    input: keyChange,
    handle: (call) => managing(call, (key) => change(call, key, call.input)),
  }),
  route('POST /api/organizations/:organization/keys/:key/revocation', {
    access: 'member',
    endsAccess: true,
    handle: (call) =>
      managing(call, async ({ id }) => {
        const key = await revokeKey(call.deps.database, id, actorOf(call), call.organizationId);
        return key === undefined ? notFound('key') : keyView(call, key);
      }),
  }),
  route('POST /api/organizations/:organization/keys/revocation', {
    access: 'member',
    endsAccess: true,
    input: severalKeys,
    async handle(call) {
      const { deps, organizationId, input } = call;
      const revocation = { ids: input.keys, organizationId, allows: (key: KeyRecord) => mayManage(call, key) };
      const result = await revokeKeys(deps.database, revocation, actorOf(call));
      if (result.kind === 'unknown_key') return notFound('key');
      return result.kind === 'not_allowed' ? NOT_YOURS : { revoked: result.newlyRevoked };
    },
  }),
  route('POST /api/organizations/:organization/keys/:key/replacement', {
    access: 'member',
    input: keyReplacement,
    handle: (call) =>
      managing(call, async ({ id }) => {
        const { deps, organizationId, input } = call;
        const wrong = checkExpiry(call, input) ?? (await checkRoom(call));
        if (wrong) return wrong;
        const nowMs = deps.nowMs();
        const { secret, identity } = newKeySecret(nowMs);
        const { revokeOldAfterHours: hours, expiresAtMs } = input;
        const later = hours === 0 ? {} : { oldRevokedAtMs: (await databaseClock(deps.database)) + hours * HOUR_MS };
        const result = await replaceKey(
          deps.database,
          organizationId,
          id,
          { ...identity, ...later, ...present({ expiresAtMs }) },
          actorOf(call),
        );
        if (result.kind !== 'replaced') return NOT_REPLACED[result.kind];
        return { key: await keyView(call, result.key), secret };
      }),
  }),
  csvRoute('/api/organizations/:organization/keys.csv', {
    access: 'member',
    input: keyFilter,
    handle: async ({ deps, organizationId, input }) => keyLines(deps.database, organizationId, input, deps.nowMs()),
  }),
];

/** Members may manage only their own keys. */
async function managing<T>(call: KeyCall, work: (key: KeyRecord) => Promise<T | Problem>): Promise<T | Problem> {
  const key = await findKey(call.deps.database, call.organizationId, call.params.key);
  if (key === undefined) return notFound('key');
  if (!mayManage(call, key)) return NOT_YOURS;
  return work(key);
}

const NOT_YOURS = problem('not_allowed', 'Somebody else made this key: ask an owner.');

const NOT_REPLACED = {
  unknown_key: notFound('key'),
  revoked: problem('conflict', 'This key has been revoked or replaced already.'),
  expired: problem('conflict', 'This key has expired: extend it, or create another key.'),
};

async function change(call: KeyCall, key: KeyRecord, wanted: KeyChange): Promise<KeyView | Problem> {
  const { deps, organizationId } = call;
  // Fields that the form returns unchanged are not checked again, because an expiry may have passed
  // meanwhile.
  const moved = wanted.expiresAtMs === key.expiresAtMs ? undefined : checkExpiry(call, wanted);
  const wrong = moved ?? (await checkModels(deps, wanted.models, key.models));
  if (wrong) return wrong;
  const result = await updateKey(deps.database, organizationId, key.id, storedAmounts(wanted), actorOf(call));
  switch (result.kind) {
    case 'updated':
      return keyView(call, result.key);
    case 'unknown_key':
      return notFound('key');
    case 'revoked':
      return problem('conflict', 'This key has been revoked.');
    case 'above_organization':
      return aboveOrganization(result);
  }
}

function keyLines(
  database: Database,
  organizationId: string,
  { show, search = '' }: z.infer<typeof keyFilter>,
  nowMs: number,
) {
  const read = async (before: string | undefined, limit: number) => {
    const { rows, next } = await readKeyTable(database, { organizationId, ...present({ before }), limit }, nowMs);
    const isShown = ({ key, state }: ListedKey) => {
      const listed = { ...key, state, ...present({ createdBy: key.creator }) };
      return isInGroup(listed, show, nowMs) && matchesSearch(listed, search);
    };
    return { rows: rows.filter(isShown), ...present({ next }) };
  };
  return csvLines(KEY_CSV_COLUMNS, read, { stepRows: CSV_STEP_ROWS });
}
