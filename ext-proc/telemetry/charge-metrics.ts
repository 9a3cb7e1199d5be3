import { Counter, Gauge, type Registry } from 'prom-client';
import { type NanoUsd, usdNumber } from '#core/money.ts';
import type { LossReason } from '#database/costs/losses.ts';
import type { TotalMismatch } from '../hold/delivery-hold.ts';
import type { Hold } from '../limits/limit-store.ts';

export interface ChargeMetrics {
  charged(charge: {
    model: string;
    costUsd: number;
    promptTokens: number;
    completionTokens: number;
    counted: boolean;
  }): void;
  /** A response named a service tier that no table knows. */
  unknownTier(model: string, tier: string): void;
  /** The configuration lacks the price list of a caller, who pays the models' own prices. */
  unknownPriceList(): void;
  /** A provider's usage had a total that is not prompt plus completion. */
  usageMismatched(provider: string, total: TotalMismatch): void;
  /** A provider's usage counted something about a cache under a name that no rule reads. */
  cacheUnread(provider: string): void;
  /** Holds that the limit store had forgotten while it admitted others. */
  holdsLost(holds: number): void;
  settlementFailed(): void;
  /** A charge went to the dead letters: an operator has to look at it. */
  chargeDeadLettered(): void;
  /** A provider is paid this amount, and no organization is charged for it. */
  lost(reason: LossReason, amountNanoUsd: NanoUsd): void;
  /** The ledger had gone back in time and lacked these charges, which were made again. */
  chargedAgain(charges: number): void;
  /** Neither PostgreSQL nor the log took a charge. */
  chargeLost(): void;
  /** Registers the gauges of the charge log, read at each scrape. */
  watchChargeLog(chargeLog: WatchedChargeLog): void;
  /** A request of a process that was killed is settled. */
  recovered(as: 'charged' | 'uncharged'): void;
  /** Registers the gauges of the holds, read at each scrape. */
  watchHolds(live: () => readonly Hold[]): void;
}

const ALWAYS_SHOWN: readonly LossReason[] = ['over_hold', 'balance', 'tier'];

/** Different names of tiers. Providers can say anything, so the rest share one. */
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

export function createChargeMetrics(registers: Registry[]): ChargeMetrics {
  const cost = new Counter({
    name: 'gateway_charged_usd_total',
    help: 'Amount charged to organizations, by model.',
    labelNames: ['model'],
    registers,
  });
  const tokens = new Counter({
    name: 'gateway_tokens_total',
    help: 'Tokens charged, by model and type.',
    labelNames: ['model', 'type'],
    registers,
  });
  const counted = new Counter({
    name: 'gateway_usage_counted_total',
    help: 'Responses without plausible usage from the provider. The gateway counted their tokens.',
    registers,
  });
  const losses = new Counter({
    name: 'gateway_losses_usd_total',
    help: 'Cost of generations that no customer was charged for, by reason. The command ledger losses lists them.',
    labelNames: ['reason'],
    registers,
  });
  // Series exist before the first loss: `increase` does not see a series that begins with it.
  for (const reason of ALWAYS_SHOWN) losses.inc({ reason }, 0);
  return {
    lost: (reason, amountNanoUsd) => losses.inc({ reason }, usdNumber(amountNanoUsd)),
    charged(charge) {
      const { model } = charge;
      cost.inc({ model }, charge.costUsd);
      tokens.inc({ model, type: 'prompt' }, charge.promptTokens);
      tokens.inc({ model, type: 'completion' }, charge.completionTokens);
      if (charge.counted) counted.inc();
    },
    ...doubtMetrics(registers),
    ...failureMetrics(registers),
    watchChargeLog: (chargeLog) => addChargeLogGauges(registers, chargeLog),
    watchHolds: (live) => addHoldGauges(registers, live),
  };
}

/** Charges that may not be what the provider bills. */
function doubtMetrics(
  registers: Registry[],
): Pick<ChargeMetrics, 'usageMismatched' | 'cacheUnread' | 'unknownTier' | 'unknownPriceList'> {
  const mismatches = new Counter({
    name: 'gateway_usage_mismatches_total',
    help: 'Responses whose total of tokens is not prompt plus completion, by provider and total: above (the difference was charged as reasoning), below (the tokens were counted).',
    labelNames: ['provider', 'total'],
    registers,
  });
  const unreadCaches = new Counter({
    name: 'gateway_unread_cache_usages_total',
    help: 'Responses whose usage counts something about a prompt cache under a name that no rule reads, by provider. Their charge may differ from what the provider bills.',
    labelNames: ['provider'],
    registers,
  });
  const unknownTiers = new Counter({
    name: 'gateway_unknown_service_tiers_total',
    help: 'Responses that named a service tier that neither the prices of the model nor the costs of the target have, by model and tier. They were charged as the tier that was asked for.',
    labelNames: ['model', 'tier'],
    registers,
  });
  const tiers = new Set<string>();
  const unknownLists = new Counter({
    name: 'gateway_unknown_price_lists_total',
    help: "Requests of organizations whose price list the configuration does not have. The models' own prices applied.",
    registers,
  });
  return {
    usageMismatched: (provider, total) => mismatches.inc({ provider, total }),
    cacheUnread: (provider) => unreadCaches.inc({ provider }),
    unknownTier(model, tier) {
      if (tiers.size < MOST_TIERS) tiers.add(tier);
      unknownTiers.inc({ model, tier: tiers.has(tier) ? tier : 'other' });
    },
    unknownPriceList: () => unknownLists.inc(),
  };
}

function failureMetrics(
  registers: Registry[],
): Pick<
  ChargeMetrics,
  'holdsLost' | 'settlementFailed' | 'chargeDeadLettered' | 'chargeLost' | 'recovered' | 'chargedAgain'
> {
  const lost = new Counter({
    name: 'gateway_holds_lost_total',
    help: 'Holds that the limit store lost while it admitted other requests. Their money could be spent twice for that time.',
    registers,
  });
  const unsettled = new Counter({
    name: 'gateway_settlements_failed_total',
    help: 'Failed attempts to commit a charge.',
    registers,
  });
  const deadLettered = new Counter({
    name: 'gateway_dead_letters_total',
    help: 'Charges that the ledger refused, moved to the table dead_letters.',
    registers,
  });
  const lostCharges = new Counter({
    name: 'gateway_charges_lost_total',
    help: 'Charges that neither PostgreSQL nor the charge log took. Their responses ended with an error.',
    registers,
  });
  const recovered = new Counter({
    name: 'gateway_recovered_requests_total',
    help: 'Requests of a killed process, settled by its successor: charged for what was delivered, or uncharged.',
    labelNames: ['as'],
    registers,
  });
  const again = new Counter({
    name: 'gateway_charges_made_again_total',
    help: 'Recent charges that the ledger lacked after a failover or a restore, and that were made again.',
    registers,
  });
  return {
    chargedAgain: (charges) => again.inc(charges),
    recovered: (as) => recovered.inc({ as }),
    holdsLost: (holds) => lost.inc(holds),
    settlementFailed: () => unsettled.inc(),
    chargeDeadLettered: () => deadLettered.inc(),
    chargeLost: () => lostCharges.inc(),
  };
}

function addChargeLogGauges(registers: Registry[], chargeLog: WatchedChargeLog): void {
  const add = (name: string, help: string, read: () => number | Promise<number>): void => {
    new Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await read());
      },
    });
  };
  const unknown = () => Number.NaN;
  add(
    'gateway_charges_waiting',
    'Charges in the log of the process that PostgreSQL does not have yet; in health for some 50 ms.',
    () => chargeLog.waiting(),
  );
  add(
    'gateway_charges_waiting_seconds',
    'Age of the oldest waiting charge. Completions are refused above 5 s.',
    () => chargeLog.oldestMs() / 1000,
  );
  add(
    'gateway_charge_log_failing',
    '1 while the charge log cannot be written. Streams that a crash cuts then are not charged.',
    () => (chargeLog.isFailing() ? 1 : 0),
  );
  add(
    'gateway_charge_log_free_bytes',
    'Free space on the disk of the charge log. Completions are refused below 32 MiB. NaN: unknown.',
    () => chargeLog.freeBytes().catch(unknown),
  );
  add(
    'gateway_charge_log_damaged_files',
    'Files with damaged lines of the charge log, which are not charged. NaN: unknown.',
    () => chargeLog.damagedFiles().catch(unknown),
  );
}

function addHoldGauges(registers: Registry[], live: () => readonly Hold[]): void {
  new Gauge({
    name: 'gateway_holds',
    help: 'Holds of this process: admitted completions, neither charged nor released.',
    registers,
    collect() {
      this.set(live().length);
    },
  });
  new Gauge({
    name: 'gateway_held_usd',
    help: 'Money of these holds: the worst-case cost of all completions in progress.',
    registers,
    collect() {
      this.set(usdNumber(live().reduce((sum, { holdNanoUsd }) => sum + holdNanoUsd, 0n)));
    },
  });
}
