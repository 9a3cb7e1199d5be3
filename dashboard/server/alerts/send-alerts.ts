import { hash } from 'node:crypto';
import type { Log } from '#core/log/log.ts';
import { reportCrossings } from '#database/alerts/crossings.ts';
import { type ModelDifferences, reportOperatorCrossings } from '#database/alerts/operator-crossings.ts';
import { type Background, repeat } from '../background/repeat.ts';
import type { Database } from '../fairness/stores.ts';
import type { Deps } from '../http/route.ts';
import { deliverOutbox } from './outbox-delivery.ts';

/** Alerts may be some seconds late. One check reads by index only what the settings need. */
const LOOK_EVERY_MS = 2_000;
const COMPARE_EVERY_MS = 60_000;
/** Monthly and lifetime spend is a sum over days, so it is checked less often. */
const SUM_EVERY_MS = 60_000;
const SHOWN_MODELS = 5;

/** Finds new conditions and sends alerts about them. */
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
    // Set before the read, so that sums that time out do not delay other alerts until they are due
    // again.
    if (isDue) summedAtMs = performance.now();
    return isDue;
  };
  const looking = repeat(LOOK_EVERY_MS, log, 'conditions of alerts cannot be read', async () => {
    const { mail } = settings();
    await reportCrossings(database, { sendsMail: mail !== undefined, readsSums: readsSums() });
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
