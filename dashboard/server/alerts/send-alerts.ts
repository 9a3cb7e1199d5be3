import { hash } from 'node:crypto';
import type { Log } from '#core/log/log.ts';
import { reportCrossings } from '#database/alerts/crossings.ts';
import { type ModelDifferences, reportOperatorCrossings } from '#database/alerts/operator-crossings.ts';
import { type Background, repeat } from '../background/repeat.ts';
import type { Database } from '../fairness/stores.ts';
import type { Deps } from '../http/route.ts';
import { deliverOutbox } from './outbox-delivery.ts';

/** Alerts are a few seconds late; one look reads by index what its settings ask for. */
const LOOK_EVERY_MS = 2_000;
const COMPARE_EVERY_MS = 60_000;
/** Spend of months and lifetimes is a sum of days, which a look reads less often. */
const SUM_EVERY_MS = 60_000;
const SHOWN_MODELS = 5;

/** Finds what is to be reported, and sends it. */
export function sendAlerts(
  database: Database,
  { settings, compareWithCatalogue }: Pick<Deps, 'settings' | 'compareWithCatalogue'>,
  log: Log,
): Background {
  let compared: { readonly atMs: number; readonly found: ModelDifferences | undefined } | undefined;
  const differences = () => {
    const atMs = performance.now();
    if (compared === undefined || atMs - compared.atMs >= COMPARE_EVERY_MS)
      compared = { atMs, found: differencesOf(compareWithCatalogue().differences) };
    return compared.found;
  };
  let summedAtMs = Number.NEGATIVE_INFINITY;
  const readsSums = () => {
    const isDue = performance.now() - summedAtMs >= SUM_EVERY_MS;
    // Sums that time out delay no other alert before they are due again.
    if (isDue) summedAtMs = performance.now();
    return isDue;
  };
  const looking = repeat(LOOK_EVERY_MS, log, 'conditions of alerts cannot be read', async () => {
    const { mail } = settings();
    await reportCrossings(database, mail !== undefined, readsSums());
    const operators = mail?.operators ?? [];
    if (operators.length > 0) await reportOperatorCrossings(database, operators, differences());
  });
  const delivering = deliverOutbox(database, settings, log);
  return {
    async close() {
      await Promise.all([looking.close(), delivering.close()]);
    },
  };
}

function differencesOf(found: ReturnType<Deps['compareWithCatalogue']>['differences']): ModelDifferences | undefined {
  if (found.length === 0) return undefined;
  const texts = found.map(({ model, field, catalogue }) => JSON.stringify([model, field, catalogue])).sort();
  const models = [...new Set(found.map(({ model }) => model))];
  const more = models.length > SHOWN_MODELS ? ', …' : '';
  return {
    fingerprint: hash('sha256', texts.join()),
    count: found.length,
    models: `${models.slice(0, SHOWN_MODELS).join(', ')}${more}`,
  };
}
