import { changed } from '#contract/setting.ts';
import { KEY_SETTINGS } from '#contract/shown-settings.ts';
import { countOf } from '#core/count-of.ts';
import { MAX_NOTE_CHARACTERS, MAX_REVOKED_AT_ONCE } from '#core/field-bounds.ts';
import { keyStateAt } from '#core/key-state.ts';
import { formatUsd } from '#core/money.ts';
import { present } from '#core/present.ts';
import { updateKey } from '#database/keys/key-changes.ts';
import type {
  AboveOrganization,
  KeyChange,
  KeyRecord,
  KeyRestrictions,
  KeySettings,
} from '#database/keys/key-records.ts';
import { findKey, listKeys } from '#database/keys/key-rows.ts';
import { revokeKeys } from '#database/keys/revoke-keys.ts';
import { currentConfiguration } from '#database/process-reports/process-reports.ts';
import type { FlagSpec } from '../command-line/arguments.ts';
import { type Command, idProblem, onDatabase, operatorHere, unknown } from '../command-line/command.ts';
import { withDatabase } from '../command-line/database.ts';
import type { ValueReader } from '../command-line/flag-values.ts';
import { type Result, refused } from '../command-line/result.ts';
import { readSettingFlags, settingFlags } from '../command-line/setting-flags.ts';
import { table } from '../command-line/table.ts';
import { type CreateKeyOutcome, createKeyWithSecret, keyJson, keyLines, keysCsv } from '../records/keys.ts';

const RESTRICTION_FLAGS: readonly FlagSpec[] = [
  { name: 'models', value: 'a,b' },
  { name: 'ips', value: 'CIDR,…' },
  { name: 'expires', value: 'ISO' },
  ...settingFlags(KEY_SETTINGS),
];

const create: Command = {
  name: 'key create',
  summary: 'Create a key and show it once.',
  flags: [
    { name: 'org', value: 'ID', required: true },
    { name: 'name', value: 'NAME', required: true },
    { name: 'note', value: 'TEXT' },
    { name: 'scopes', value: 'chat,usage:read', required: true },
    ...RESTRICTION_FLAGS,
  ],
  async run(call) {
    const organizationId = call.flags.get('org') ?? '';
    const problem = idProblem('org', organizationId);
    if (problem) return problem;
    return onDatabase(
      call,
      (values) => readSettings(organizationId, values),
      async (pool, settings) => {
        // Read before: otherwise a failure would lose the only showing of the key.
        const configuration = await currentConfiguration(pool);
        const outcome = await createKeyWithSecret(pool, settings, operatorHere());
        const result = created(outcome, organizationId);
        return outcome.kind === 'created' ? withWarning(configuration, outcome.key, result) : result;
      },
    );
  },
};

const list: Command = {
  name: 'key list',
  summary: "List an organization's keys, oldest first.",
  flags: [{ name: 'org', value: 'ID', required: true }, { name: 'csv' }],
  async run(call) {
    const organizationId = call.flags.get('org') ?? '';
    const problem = idProblem('org', organizationId);
    if (problem) return problem;
    return onDatabase(
      call,
      (values) => values.isOn('csv') === true,
      async (pool, asCsv) => {
        const keys = await listKeys(pool, organizationId);
        if (!keys) return unknown('org', organizationId);
        const nowMs = Date.now();
        const json = { keys: keys.map((key) => keyJson(key, nowMs)) };
        if (asCsv) return { kind: 'done', json, text: await keysCsv(pool, organizationId, nowMs) };
        const rows = keys.map((key) => [
          key.id,
          `…${key.last4}`,
          keyStateAt(key, nowMs),
          key.scopes.join(','),
          key.name,
          key.note ?? '',
        ]);
        const head = ['ID', 'ENDS IN', 'STATE', 'SCOPES', 'NAME', 'NOTE'];
        return { kind: 'done', json, text: rows.length === 0 ? 'There are no keys.' : table([head, ...rows]) };
      },
    );
  },
};

const show: Command = {
  name: 'key show',
  summary: 'Show a key without its secret.',
  positionals: ['ID'],
  async run(call) {
    const [id = ''] = call.positionals;
    const problem = idProblem('key', id);
    if (problem) return problem;
    return withDatabase(call.env, async (pool) => {
      const key = await findKey(pool, undefined, id);
      return key ? shown(key) : unknown('key', id);
    });
  },
};

const update: Command = {
  name: 'key update',
  summary: 'Change settings of a key from the next request on; "none" clears any setting except name and scopes.',
  positionals: ['ID'],
  flags: [
    { name: 'name', value: 'NAME' },
    { name: 'note', value: 'TEXT' },
    { name: 'scopes', value: 'chat,usage:read' },
    ...RESTRICTION_FLAGS,
  ],
  async run(call) {
    const [id = ''] = call.positionals;
    const problem = idProblem('key', id);
    if (problem) return problem;
    return onDatabase(call, readChange, async (pool, change) => {
      const key = await findKey(pool, undefined, id);
      if (!key) return unknown('key', id);
      const configuration = await currentConfiguration(pool);
      const result = await updateKey(pool, key.organizationId, id, change, operatorHere());
      switch (result.kind) {
        case 'updated':
          return withWarning(configuration, result.key, shown(result.key));
        case 'revoked':
          return refused(`The key ${id} is revoked: create another one.`);
        case 'above_organization':
          return tooHigh(result);
        case 'unknown_key':
          return unknown('key', id);
      }
    });
  },
};

const revoke: Command = {
  name: 'key revoke',
  summary: 'Revoke keys from the next request on, all of them or none. It cannot be undone.',
  positionals: ['ID…'],
  async run(call) {
    const ids = [...new Set(call.positionals)];
    if (ids.length > MAX_REVOKED_AT_ONCE) return refused(`At most ${MAX_REVOKED_AT_ONCE} keys at once.`);
    const problem = ids.map((id) => idProblem('key', id)).find((one) => one !== undefined);
    if (problem) return problem;
    return withDatabase(call.env, async (pool) => {
      const result = await revokeKeys(pool, { ids }, operatorHere());
      if (result.kind === 'unknown_key') return unknown('key', result.id);
      if (result.kind === 'not_allowed') throw new Error('an operator may revoke every key');
      const [key, ...others] = result.keys;
      // A single key is printed in full, as by other commands.
      if (key && others.length === 0) return shown(key);
      const nowMs = Date.now();
      const json = { keys: result.keys.map((one) => keyJson(one, nowMs)) };
      return { kind: 'done', json, text: `Revoked ${countOf(result.keys.length, 'key')}.` };
    });
  },
};

export const KEY_COMMANDS: readonly Command[] = [create, list, show, update, revoke];

function shown(key: KeyRecord): Result {
  const nowMs = Date.now();
  return { kind: 'done', json: keyJson(key, nowMs), text: table(keyLines(key, nowMs)) };
}

type Configuration = Awaited<ReturnType<typeof currentConfiguration>>;

/** Warns of an unknown model, which may be added later, and of an expiry in the past. */
function withWarning(configuration: Configuration, key: KeyRecord, result: Result): Result {
  const known = configuration?.models.map(({ id }) => id);
  const unknown = key.models?.filter((id) => known?.includes(id) === false) ?? [];
  const warning = [
    ...(unknown.length === 0 ? [] : [`The configuration in force has no model ${unknown.join(', ')}.`]),
    ...(keyStateAt(key, Date.now()) === 'expired' ? ['The key has expired already.'] : []),
  ].join(' ');
  if (warning === '' || result.kind !== 'done') return result;
  return { ...result, json: { ...result.json, warning }, text: `${result.text}\nwarning: ${warning}` };
}

function readSettings(organizationId: string, values: ValueReader): KeySettings {
  return { organizationId, ...changed<KeyRestrictions>({ name: '', scopes: [] }, readChange(values)) };
}

function readChange(values: ValueReader): KeyChange {
  const others = present({
    name: values.name('name'),
    note: values.orNone('note', (flag) => values.text(flag, MAX_NOTE_CHARACTERS)),
    scopes: values.scopes('scopes'),
    models: values.orNone('models', values.models),
    ipRanges: values.orNone('ips', values.ipRanges),
    expiresAtMs: values.orNone('expires', values.moment),
  });
  return { ...others, ...readSettingFlags<KeyRestrictions>(KEY_SETTINGS, values) };
}

function tooHigh({ limit, organizationLimit }: AboveOrganization): Result {
  const text = typeof organizationLimit === 'bigint' ? `${formatUsd(organizationLimit)} USD` : organizationLimit;
  return refused(`--${KEY_SETTINGS[limit].flag} is above the organization's limit of ${text}.`);
}

function created(outcome: CreateKeyOutcome, organizationId: string): Result {
  switch (outcome.kind) {
    case 'unknown_organization':
      return unknown('org', organizationId);
    case 'above_organization':
      return tooHigh(outcome);
    case 'created': {
      const { key, secret } = outcome;
      const nowMs = Date.now();
      const { id, ...rest } = keyJson(key, nowMs);
      const lines = [['key', secret] as const, ...keyLines(key, nowMs)];
      return {
        kind: 'done',
        json: { id, key: secret, ...rest },
        text: `${table(lines)}\n\nStore the key: it is not shown again.`,
      };
    }
  }
}
