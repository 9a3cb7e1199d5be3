import type { CheckedConfig } from '#core/config/gateway-config.ts';
import { countOf } from '#core/count-of.ts';
import { missingRight } from '#database/connection/unavailable.ts';
import type { DatabaseDiagnosis, LedgerFigures, NameUse } from '#database/diagnosis.ts';
import { DEMO_EMAIL } from '../records/users.ts';
import { type Finding, ok, problem, skipped, warning } from './check.ts';
import type { LookedAt } from './database.ts';

/** Checks of stored data, if the database can be read. */

export async function lookAtLedger(database: DatabaseDiagnosis): Promise<readonly Finding[]> {
  const figures = await database.ledger();
  const { organizations, deadLetters, differing } = figures;
  const agreeing =
    organizations === 1
      ? 'the balance of 1 organization agrees with its last entry'
      : `balances of ${countOf(organizations, 'organization')} agree with their last entries`;
  const differ = `balances differ from their entries: ${differing.join(', ')}`;
  const books =
    differing.length === 0
      ? ok('ledger', agreeing)
      : problem('ledger', differ, 'Run `ledger verify`, which names the differences.');
  const refused = `${countOf(deadLetters, 'charge was', 'charges were')} refused by the ledger`;
  const advice = 'See `ledger dead-letters list`; each is a completion that was not charged. Retry or forgive it.';
  const letters = deadLetters === 0 ? ok('dead letters', 'none') : problem('dead letters', refused, advice);
  return [books, letters, ...keptUp(figures)];
}

/** Checkpoints are written every hour. */
const LATE_CHECKPOINT_HOURS = 3;
/** The default of `cost_progress.summed_until`. */
const NEVER_SUMMED = '1970-01-01';

/** Background work of the gateway processes. Only their logs say why it fails. */
function keptUp({ uncheckpointedHours: hours, costsUntil }: LedgerFigures): readonly Finding[] {
  const advice = 'The log of the gateway processes has the reason. After a start it takes up to ten minutes.';
  const old = `the ledger has entries of ${Math.floor(hours)} hours ago without a checkpoint`;
  const summed =
    costsUntil === NEVER_SUMMED ? 'no day of costs is summed up yet' : `costs are summed up until ${costsUntil}`;
  const late = `${summed}, and reports read later days from every row`;
  return [
    hours < LATE_CHECKPOINT_HOURS
      ? ok('checkpoints', 'they cover all but the newest entries')
      : warning('checkpoints', old, advice),
    costsUntil === null ? ok('sums of costs', 'all days that are over') : warning('sums of costs', late, advice),
  ];
}

/** Compares the price lists of organizations with those of the configuration. */
export async function lookAtPriceLists(
  { priceLists }: Pick<CheckedConfig, 'priceLists'>,
  database: DatabaseDiagnosis,
): Promise<readonly Finding[]> {
  const check = 'price lists';
  const used = await database.priceLists();
  const lacking = used.filter(({ name }) => !priceLists.has(name));
  if (used.length === 0) return [ok(check, 'no price list is in use')];
  if (lacking.length === 0) return [ok(check, `${countOf(used.length, 'price list')} in use, all configured`)];
  return lacking.map((use) => {
    const found = `${usersOf(use)}: the price list ${use.name} is not in the configuration, so the models' own prices apply`;
    return problem(
      check,
      found,
      'Add it to price_lists, or correct the organization: org update ID --price-list NAME.',
    );
  });
}

const MODELS_SHOWN = 20;

/** Compares the models that keys name with those of the configuration. */
export async function lookAtModelsOfKeys(
  { models }: Pick<CheckedConfig, 'models'>,
  database: DatabaseDiagnosis,
): Promise<readonly Finding[]> {
  const check = 'models of keys';
  const lacking = await database.modelsOfKeysBut([...models.keys()]);
  if (lacking.length === 0) return [ok(check, 'all are configured')];
  const advice = 'Add it to models, or correct the keys: key list --org ID, then key update ID --models a,b.';
  const shown = lacking
    .slice(0, MODELS_SHOWN)
    .map((use) => `keys of ${usersOf(use)} name the model ${use.name}, which is`);
  const more = lacking.length - shown.length;
  if (more > 0) shown.push(`keys name ${countOf(more, 'more model, which is', 'more models, which are')}`);
  return shown.map((found) => warning(check, `${found} not in the configuration`, advice));
}

function usersOf({ count, organizations }: NameUse): string {
  const others = count - organizations.length;
  return `${organizations.join(', ')}${others > 0 ? ` and ${others} more` : ''}`;
}

/**
 * Checks for leftovers of the demo that a first `npm start` creates: an operator with a well-known
 * address, and a key that spends real money once a provider's key is set.
 */
export async function lookAtDemo(isConfigured: boolean, { readable }: LookedAt): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  if (isConfigured) {
    const advice = 'Remove it from the configuration in production: an empty database would get an operator and a key.';
    found.push(warning('demo', '`demo: true` is configured', advice));
  }
  // The checks of the database itself report this.
  if (readable === undefined) return found;
  try {
    if (await readable.hasEnabledUser(DEMO_EMAIL)) {
      const advice = `Create an operator of your own, then \`user disable ${DEMO_EMAIL}\`; revoke the key of the organization Demo.`;
      found.push(warning('demo', `${DEMO_EMAIL} can sign in`, advice));
    }
  } catch (error) {
    // The gateway process's database user may not read users.
    if (!missingRight(error)) throw error;
    found.push(skipped('demo', 'this database user may not read its account'));
  }
  return found.length > 0 ? found : [ok('demo', 'no demo is left')];
}
