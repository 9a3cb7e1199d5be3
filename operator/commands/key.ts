import { formatUsd } from '../../core/money.ts';
import type { KeySettings } from '../../database/keys/key-records.ts';
import { type Command, idProblem, onDatabase, operatorHere, unknown } from '../command-line/command.ts';
import type { ValueReader } from '../command-line/flag-values.ts';
import { type Result, refused } from '../command-line/result.ts';
import { table } from '../command-line/table.ts';
import { type CreateKeyOutcome, createKey, keyJson, keyLines, keyState } from '../records/keys.ts';

const create: Command = {
  name: 'key create',
  summary: 'Create a key and show it once.',
  positionals: [],
  flags: [
    { name: 'org', value: 'ID', required: true },
    { name: 'name', value: 'NAME', required: true },
    { name: 'scopes', value: 'chat,usage:read', required: true },
    { name: 'models', value: 'a,b' },
    { name: 'ips', value: 'CIDR,…' },
    { name: 'expires', value: 'ISO' },
    { name: 'rpm', value: 'N' },
    { name: 'tpm', value: 'N' },
    { name: 'daily-budget', value: 'USD' },
  ],
  async run(call) {
    const organizationId = call.flags.get('org') ?? '';
    const problem = idProblem('org', organizationId);
    if (problem) return problem;
    return onDatabase(
      call,
      (values) => readSettings(organizationId, values),
      async ({ administration }, settings) =>
        created(await createKey(administration, settings, operatorHere()), organizationId),
    );
  },
};

const list: Command = {
  name: 'key list',
  summary: "List an organization's keys, oldest first.",
  positionals: [],
  flags: [{ name: 'org', value: 'ID', required: true }],
  async run(call) {
    const organizationId = call.flags.get('org') ?? '';
    const problem = idProblem('org', organizationId);
    if (problem) return problem;
    return onDatabase(
      call,
      () => undefined,
      async ({ administration }) => {
        const keys = await administration.keys(organizationId);
        if (!keys) return unknown('org', organizationId);
        const nowMs = Date.now();
        const rows = keys.map((key) => [key.id, `…${key.last4}`, keyState(key, nowMs), key.scopes.join(','), key.name]);
        return {
          kind: 'done',
          json: { keys: keys.map((key) => keyJson(key, nowMs)) },
          text:
            rows.length === 0 ? 'There are no keys.' : table([['ID', 'ENDS IN', 'STATE', 'SCOPES', 'NAME'], ...rows]),
        };
      },
    );
  },
};

const revoke: Command = {
  name: 'key revoke',
  summary: 'Revoke a key from the next request on. It cannot be undone.',
  positionals: ['ID'],
  flags: [],
  async run(call) {
    const [id = ''] = call.positionals;
    const problem = idProblem('key', id);
    if (problem) return problem;
    return onDatabase(
      call,
      () => undefined,
      async ({ administration }) => {
        const key = await administration.revokeKey(id, operatorHere());
        if (!key) return unknown('key', id);
        const nowMs = Date.now();
        return { kind: 'done', json: keyJson(key, nowMs), text: table(keyLines(key, nowMs)) };
      },
    );
  },
};

export const KEY_COMMANDS: readonly Command[] = [create, list, revoke];

function readSettings(organizationId: string, values: ValueReader): KeySettings {
  const models = values.models('models');
  const ipRanges = values.ipRanges('ips');
  const expiresAtMs = values.moment('expires');
  const requestsPerMinute = values.count('rpm', 1_000_000_000) ?? undefined;
  const tokensPerMinute = values.count('tpm', 1_000_000_000_000) ?? undefined;
  const dailyBudgetNanoUsd = values.budget('daily-budget') ?? undefined;
  return {
    organizationId,
    name: values.name('name') ?? '',
    scopes: values.scopes('scopes'),
    ...(models ? { models } : {}),
    ...(ipRanges ? { ipRanges } : {}),
    ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    limits: {
      ...(requestsPerMinute === undefined ? {} : { requestsPerMinute }),
      ...(tokensPerMinute === undefined ? {} : { tokensPerMinute }),
      ...(dailyBudgetNanoUsd === undefined ? {} : { dailyBudgetNanoUsd }),
    },
  };
}

const LIMIT_FLAG = { requestsPerMinute: 'rpm', tokensPerMinute: 'tpm', dailyBudgetNanoUsd: 'daily-budget' } as const;

function created(outcome: CreateKeyOutcome, organizationId: string): Result {
  switch (outcome.kind) {
    case 'unknown_organization':
      return unknown('org', organizationId);
    case 'above_organization': {
      const { limit, organizationLimit } = outcome;
      const text = typeof organizationLimit === 'bigint' ? `${formatUsd(organizationLimit)} USD` : organizationLimit;
      return refused(`--${LIMIT_FLAG[limit]} is above the organization's limit of ${text}.`);
    }
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
