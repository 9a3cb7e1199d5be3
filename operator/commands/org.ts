import { type Change, changed } from '#contract/setting.ts';
import { ORGANIZATION_SETTINGS } from '#contract/shown-settings.ts';
import type { Environment } from '#core/config/load.ts';
import { MAX_NOTE_CHARACTERS, MAX_REFERENCE } from '#core/field-bounds.ts';
import { newId } from '#core/ids.ts';
import { formatUsd, usdJson } from '#core/money.ts';
import { present } from '#core/present.ts';
import { DEFAULT_RULES } from '#core/principal.ts';
import type { OrganizationRecord, OrganizationSettings } from '#database/organizations/organization-records.ts';
import {
  creditOrganization,
  findOrganization,
  listOrganizations,
  setSuspended,
  updateOrganization,
} from '#database/organizations/organization-rows.ts';
import type { FlagSpec } from '../command-line/arguments.ts';
import {
  type Command,
  type CommandCall,
  idProblem,
  onDatabase,
  operatorHere,
  unknown,
} from '../command-line/command.ts';
import { declaredHere, type Pool, withDatabase } from '../command-line/database.ts';
import { parseCredit, type ValueReader } from '../command-line/flag-values.ts';
import { type Result, refused } from '../command-line/result.ts';
import { readSettingFlags, settingFlags } from '../command-line/setting-flags.ts';
import { table } from '../command-line/table.ts';
import { openOrganization, organizationJson, organizationLines } from '../records/organizations.ts';

const SETTING_FLAGS: readonly FlagSpec[] = [
  ...settingFlags(ORGANIZATION_SETTINGS),
  { name: 'price-list', value: 'NAME' },
];

function readChange(values: ValueReader): Change<OrganizationSettings> {
  return {
    ...readSettingFlags<OrganizationSettings>(ORGANIZATION_SETTINGS, values),
    ...present({ priceList: values.priceList('price-list') }),
  };
}

const create: Command = {
  name: 'org create',
  summary: 'Create an organization. Without flags: no limits, concurrency 64, balance 0.',
  flags: [
    { name: 'name', value: 'NAME', required: true },
    ...SETTING_FLAGS,
    { name: 'credit', value: 'USD' },
    { name: 'reference', value: 'R' },
  ],
  async run(call) {
    if (call.flags.has('reference') && Number(call.flags.get('credit') ?? 0) === 0)
      return { kind: 'usage', message: '--reference needs --credit: nothing else is booked with it.' };
    const reference = referenceOf(call);
    return booking(reference, (decide) =>
      onDatabase(
        call,
        (values) => {
          const name = values.name('name') ?? '';
          const creditNanoUsd = values.credit('credit') ?? 0n;
          if (creditNanoUsd === 0n) decide();
          values.text('reference', MAX_REFERENCE);
          return { creditNanoUsd, ...changed<OrganizationSettings>({ name, ...DEFAULT_RULES }, readChange(values)) };
        },
        async (pool, settings) => {
          const created = await openOrganization(pool, { reference, ...settings }, operatorHere());
          decide();
          return created.kind === 'created'
            ? one(call, created.organization)
            : refused(bookedElsewhere(reference, created.organizationId));
        },
      ),
    );
  },
};

const list: Command = {
  name: 'org list',
  summary: 'List all organizations, oldest first.',
  run: ({ env }) =>
    withDatabase(env, async (pool) => {
      const organizations = await listOrganizations(pool);
      const warningOf = await listWarnings(env, organizations);
      const rows = organizations.map(({ id, name, balanceNanoUsd, suspendedAtMs }) => [
        id,
        `${formatUsd(balanceNanoUsd)} USD`,
        suspendedAtMs === undefined ? 'active' : 'suspended',
        name,
      ]);
      const warnings = new Set(organizations.flatMap((one) => warningOf(one) ?? []));
      const shown =
        rows.length === 0 ? 'There are no organizations.' : table([['ID', 'BALANCE', 'STATE', 'NAME'], ...rows]);
      return {
        kind: 'done',
        json: {
          organizations: organizations.map((one) => ({
            ...organizationJson(one),
            ...present({ warning: warningOf(one) }),
          })),
        },
        text: [shown, ...warnings].join('\nwarning: '),
      };
    }),
};

const show = onOrganization('org show', 'Show one organization.', [], nothing, (id, pool) =>
  findOrganization(pool, id),
);

const update = onOrganization(
  'org update',
  'Change settings; "none" clears a limit, --allow-n or the price list.',
  [{ name: 'name', value: 'NAME' }, ...SETTING_FLAGS],
  (values) => ({ ...readChange(values), ...present({ name: values.name('name') }) }),
  (id, pool, change) => updateOrganization(pool, id, change, operatorHere()),
);

const suspend = onOrganization(
  'org suspend',
  'Refuse all requests of an organization from the next one on.',
  [],
  nothing,
  (id, pool) => setSuspended(pool, id, true, operatorHere()),
);

const resume = onOrganization('org resume', 'Serve a suspended organization again.', [], nothing, (id, pool) =>
  setSuspended(pool, id, false, operatorHere()),
);

const credit: Command = {
  name: 'org credit',
  summary:
    'Add to the balance; a negative amount lowers it. A reference is booked once; without --reference a new one is made.',
  positionals: ['ID', 'USD'],
  flags: [
    { name: 'note', value: 'TEXT' },
    { name: 'reference', value: 'R' },
  ],
  async run(call) {
    const [id = '', amountText = ''] = call.positionals;
    const amountNanoUsd = parseCredit(amountText);
    const problem = idProblem('org', id);
    if (problem) return problem;
    if (typeof amountNanoUsd === 'string') return { kind: 'usage', message: amountNanoUsd };
    const reference = referenceOf(call);
    const readValues = (values: ValueReader) => {
      values.text('reference', MAX_REFERENCE);
      return present({ note: values.text('note', MAX_NOTE_CHARACTERS) });
    };
    return booking(reference, (decide) =>
      onDatabase(call, readValues, async (pool, { note }) => {
        const entry = { amountNanoUsd, reference, ...present({ note }) };
        const result = await creditOrganization(pool, id, entry, operatorHere());
        decide();
        switch (result.kind) {
          case 'unknown_organization':
            return unknown('org', id);
          case 'reference_elsewhere':
            return refused(bookedElsewhere(reference, result.organizationId));
          case 'out_of_range':
            return refused('The balance would become larger than the ledger can hold.');
          case 'repeated':
            if (result.amountNanoUsd !== amountNanoUsd) {
              return refused(
                `The reference ${reference} was applied before, for ${formatUsd(result.amountNanoUsd)} USD.`,
              );
            }
            return credited(result.balanceNanoUsd, reference, false);
          case 'applied':
            return credited(result.balanceNanoUsd, reference, true);
        }
      }),
    );
  },
};

export const ORGANIZATION_COMMANDS: readonly Command[] = [create, list, show, update, suspend, resume, credit];

function onOrganization<T>(
  name: string,
  summary: string,
  flags: readonly FlagSpec[],
  readValues: (values: ValueReader) => T,
  change: (id: string, pool: Pool, values: T) => Promise<OrganizationRecord | undefined>,
): Command {
  return {
    name,
    summary,
    positionals: ['ID'],
    flags,
    async run(call: CommandCall): Promise<Result> {
      const [id = ''] = call.positionals;
      const problem = idProblem('org', id);
      if (problem) return problem;
      return onDatabase(call, readValues, async (pool, values) => {
        const organization = await change(id, pool, values);
        if (organization === undefined) return unknown('org', id);
        return one(call, organization);
      });
    },
  };
}

async function one({ env }: CommandCall, organization: OrganizationRecord): Promise<Result> {
  const warning = (await listWarnings(env, [organization]))(organization);
  const text = table(organizationLines(organization));
  return {
    kind: 'done',
    json: { ...organizationJson(organization), ...present({ warning }) },
    text: warning === undefined ? text : `${text}\nwarning: ${warning}`,
  };
}

/** Warns of a price list that the configuration lacks. It may be added later, or be a mistake. */
async function listWarnings(env: Environment, organizations: readonly OrganizationRecord[]) {
  const none = () => undefined;
  if (organizations.every(({ priceList }) => priceList === undefined)) return none;
  const declared = await declaredHere(env);
  if (declared === undefined) return none;
  const { priceLists } = declared;
  return ({ priceList }: OrganizationRecord): string | undefined =>
    priceList === undefined || priceLists.includes(priceList)
      ? undefined
      : `The configuration has no price list ${priceList}: until it does, the models' own prices apply. It has: ${priceLists.join(', ') || 'none'}.`;
}

function credited(balanceNanoUsd: bigint, reference: string, applied: boolean): Result {
  const balance = `The balance is ${formatUsd(balanceNanoUsd)} USD. The reference is ${reference}.`;
  return {
    kind: 'done',
    json: { balance: usdJson(balanceNanoUsd), reference, applied },
    text: applied ? balance : `This reference was applied before; nothing was added. ${balance}`,
  };
}

/**
 * `--reference`, not checked yet, or a new one. It is known before the first attempt, so that a
 * repeated command books once.
 */
function referenceOf({ flags }: CommandCall): string {
  return flags.get('reference')?.trim() || newId('crd', Date.now());
}

/**
 * Runs a booking. The first Ctrl-C waits for its reply, a few seconds at most: otherwise nobody
 * knows whether it was booked, or the reference with which it can be repeated.
 */
async function booking(reference: string, book: (decide: () => void) => Promise<Result>): Promise<Result> {
  let decided = false;
  const wait = () => {};
  for (const signal of SIGNALS) process.once(signal, wait);
  try {
    const result = await book(() => {
      decided = true;
    });
    return decided ? result : withReference(result, reference);
  } finally {
    for (const signal of SIGNALS) process.off(signal, wait);
  }
}

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Adds the reference to a message about a lost reply, to repeat the command with it. */
function withReference(result: Result, reference: string): Result {
  if (result.kind !== 'refused') return result;
  const { message } = result;
  return {
    kind: 'refused',
    message: `${message}\nWith --reference ${reference} this credit is booked once, however often it is sent.`,
    json: { ...(result.json ?? { error: message }), reference },
  };
}

function bookedElsewhere(reference: string, organizationId: string): string {
  return `The reference ${reference} was booked for the organization ${organizationId}. Nothing was added.`;
}

function nothing(): undefined {
  return undefined;
}
