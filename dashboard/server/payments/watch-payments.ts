import type { StripeConfig } from '#core/config/dashboard-config.ts';
import { type Background, repeat } from '../background/repeat.ts';
import { type AutomaticDeps, topUpAutomatically } from './automatic.ts';
import { readOpenPayments } from './open-payments.ts';

type Work = (config: StripeConfig, deps: AutomaticDeps) => Promise<void>;

/** An organization under load spends its threshold in minutes at the most. */
const AUTOMATIC_EVERY_MS = 5_000;
const OPEN_EVERY_MS = 15_000;

/**
 * Looks for balances below their threshold and for payments without an event, until it is closed.
 * `config`: absent while payments are off.
 */
export function watchPayments(deps: AutomaticDeps, config: () => StripeConfig | undefined): Background {
  const whileOn = (work: Work) => async () => {
    const stripe = config();
    if (stripe !== undefined) await work(stripe, deps);
  };
  const watches = [
    repeat(AUTOMATIC_EVERY_MS, deps.log, 'automatic top-ups must wait', whileOn(topUpAutomatically)),
    repeat(OPEN_EVERY_MS, deps.log, 'open payments must wait to be read', whileOn(readOpenPayments)),
  ];
  return { close: async () => void (await Promise.all(watches.map((watch) => watch.close()))) };
}
