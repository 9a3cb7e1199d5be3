import { type NanoUsd, usdNumber } from '#core/money.ts';
import type { LossReason } from '#database/costs/losses.ts';
import type { TotalMismatch } from '../hold/delivery-hold.ts';
import type { Hold } from '../limits/limit-store.ts';
import type { MetricSet } from './metric-set.ts';

export type ChargeMetrics = ReturnType<typeof createChargeMetrics>;

const ALWAYS_SHOWN: readonly LossReason[] = ['over_hold', 'balance', 'tier'];

/** Most names of tiers that are shown. Providers can send any name, so the rest share one. */
const MOST_TIERS = 32;

export interface WatchedChargeLog {
  /** Charges that PostgreSQL does not have yet. */
  waiting(): number;
  /** Time that the oldest of them has waited. */
  oldestMs(): number;
  isFailing(): boolean;
  freeBytes(): Promise<number>;
  damagedFiles(): Promise<number>;
}

interface Charged {
  readonly model: string;
  readonly costUsd: number;
  readonly promptTokens: number;
  readonly completionTokens: number;
  readonly counted: boolean;
}

export function createChargeMetrics(metrics: MetricSet) {
  const cost = metrics.counter('gateway_charged_usd_total', 'Amount charged to organizations, by model.', {
    model: [],
  });
  const tokens = metrics.counter('gateway_tokens_total', 'Tokens charged, by model and type.', { model: [], type: [] });
  const counted = metrics.count(
    'gateway_usage_counted_total',
    'Responses without plausible usage from the provider. The gateway counted their tokens.',
  );
  const losses = metrics.counter(
    'gateway_losses_usd_total',
    'Cost of generations that no customer was charged for, by reason. The command ledger losses lists them.',
    { reason: ALWAYS_SHOWN },
  );
  return {
    /** A provider is paid this amount, and no organization is charged for it. */
    lost: (reason: LossReason, amountNanoUsd: NanoUsd) => losses.inc({ reason }, usdNumber(amountNanoUsd)),
    charged(charge: Charged) {
      const { model } = charge;
      cost.inc({ model }, charge.costUsd);
      tokens.inc({ model, type: 'prompt' }, charge.promptTokens);
      tokens.inc({ model, type: 'completion' }, charge.completionTokens);
      if (charge.counted) counted();
    },
    ...doubtMetrics(metrics),
    ...failureMetrics(metrics),
    watchChargeLog: (chargeLog: WatchedChargeLog) => addChargeLogGauges(metrics, chargeLog),
    watchHolds: (live: () => readonly Hold[]) => addHoldGauges(metrics, live),
  };
}

/** Charges that may not be what the provider bills. */
function doubtMetrics(metrics: MetricSet) {
  const mismatches = metrics.counter(
    'gateway_usage_mismatches_total',
    'Responses whose total of tokens is not prompt plus completion, by provider and total: above (the difference was charged as reasoning), below (the tokens were counted).',
    { provider: [], total: [] },
  );
  const unreadCaches = metrics.counter(
    'gateway_unread_cache_usages_total',
    'Responses whose usage counts something about a prompt cache under a name that no rule reads, by provider. Their charge may differ from what the provider bills.',
    { provider: [] },
  );
  const unknownTiers = metrics.counter(
    'gateway_unknown_service_tiers_total',
    'Responses that named a service tier that neither the prices of the model nor the costs of the target have, by model and tier. They were charged as the tier that was asked for.',
    { model: [], tier: [] },
  );
  const tiers = new Set<string>();
  return {
    usageMismatched: (provider: string, total: TotalMismatch) => mismatches.inc({ provider, total }),
    cacheUnread: (provider: string) => unreadCaches.inc({ provider }),
    unknownTier(model: string, tier: string) {
      if (tiers.size < MOST_TIERS) tiers.add(tier);
      unknownTiers.inc({ model, tier: tiers.has(tier) ? tier : 'other' });
    },
    unknownPriceList: metrics.count(
      'gateway_unknown_price_lists_total',
      "Requests of organizations whose price list the configuration does not have. The models' own prices applied.",
    ),
  };
}

function failureMetrics(metrics: MetricSet) {
  const recovered = metrics.counter(
    'gateway_recovered_requests_total',
    'Requests of a killed process, settled by its successor: charged for what was delivered, or uncharged.',
    { as: [] },
  );
  return {
    holdsLost: metrics.count(
      'gateway_holds_lost_total',
      'Holds that the limit store lost while it admitted other requests. Their money could be spent twice for that time.',
    ),
    settlementFailed: metrics.count('gateway_settlements_failed_total', 'Failed attempts to commit a charge.'),
    chargeDeadLettered: metrics.count(
      'gateway_dead_letters_total',
      'Charges that the ledger refused, moved to the table dead_letters.',
    ),
    chargeLost: metrics.count(
      'gateway_charges_lost_total',
      'Charges that neither PostgreSQL nor the charge log took. Their responses ended with an error.',
    ),
    recovered: (as: 'charged' | 'uncharged') => recovered.inc({ as }),
    chargedAgain: metrics.count(
      'gateway_charges_made_again_total',
      'Recent charges that the ledger lacked after a failover or a restore, and that were made again.',
    ),
  };
}

function addChargeLogGauges(metrics: MetricSet, chargeLog: WatchedChargeLog): void {
  const unknown = () => Number.NaN;
  metrics.read(
    'gateway_charges_waiting',
    'Charges in the log of the process that PostgreSQL does not have yet; in health for some 50 ms.',
    () => chargeLog.waiting(),
  );
  metrics.read(
    'gateway_charges_waiting_seconds',
    'Age of the oldest waiting charge. Completions are refused above 5 s.',
    () => chargeLog.oldestMs() / 1000,
  );
  metrics.read(
    'gateway_charge_log_failing',
    '1 while the charge log cannot be written. Streams that a crash cuts then are not charged.',
    () => (chargeLog.isFailing() ? 1 : 0),
  );
  metrics.read(
    'gateway_charge_log_free_bytes',
    'Free space on the disk of the charge log. Completions are refused below 32 MiB. NaN: unknown.',
    () => chargeLog.freeBytes().catch(unknown),
  );
  metrics.read(
    'gateway_charge_log_damaged_files',
    'Files with damaged lines of the charge log, which are not charged. NaN: unknown.',
    () => chargeLog.damagedFiles().catch(unknown),
  );
}

function addHoldGauges(metrics: MetricSet, live: () => readonly Hold[]): void {
  metrics.read(
    'gateway_holds',
    'Holds of this process: admitted completions, neither charged nor released.',
    () => live().length,
  );
  metrics.read('gateway_held_usd', 'Money of these holds: the worst-case cost of all completions in progress.', () =>
    usdNumber(live().reduce((sum, { holdNanoUsd }) => sum + holdNanoUsd, 0n)),
  );
}
