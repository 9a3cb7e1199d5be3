import { type Clock, type UtcDay, utcDay } from '#core/clock.ts';
import { isRefusal } from '#core/errors/refusal.ts';
import { flatTable, NO_PRICES } from '#core/pricing.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { Accounting, type AccountingOptions } from '#ext-proc/billing/accounting.ts';
import { openLog } from '#ext-proc/billing/charge-log/charge-log.fixture.ts';
import type { ChargeLog } from '#ext-proc/billing/charge-log/charge-log.ts';
import { HoldKeeper } from '#ext-proc/billing/hold-keeper.ts';
import type { OpenHold } from '#ext-proc/billing/open-hold.ts';
import type { LimitStore } from '#ext-proc/limits/limit-store.ts';
import { type Admission, admit } from '#ext-proc/requests/admit.ts';
import { createMetrics } from '#ext-proc/telemetry/metrics.ts';
import { configWith, modelWith } from '../fixtures/gateway-config.ts';
import type { MemoryLedger } from './memory-ledger.ts';
import { callerWith } from './money-machine.budgets.ts';
import { CHAT, producedOf } from './money-machine.chat.ts';
import { type Runner, type Scheduler, settled } from './money-machine.scheduler.ts';
import { Waits } from './money-machine.waits.ts';

/** A request with an output limit at a nano-dollar per token, and the tokens it will produce. */
export interface Ask {
  readonly generationId: string;
  readonly organizationId: string;
  readonly keyId: string;
  readonly limitNanoUsd: number;
  readonly tokens: number;
  /** How the provider ends. */
  readonly ending: 'whole' | 'nothing';
}

/** Events that the reference model observes. */
export interface Observer {
  providerCalled(ask: Ask, admission: Admission): void;
  /** The client has received a complete response. */
  completed(ask: Ask, costNanoUsd: number): void;
  /** The provider produces nothing more for the request. */
  providerEnded(ask: Ask): void;
  /** The request ended without a response. */
  failed(ask: Ask): void;
  bug(error: unknown): void;
}

export interface ProcessOptions {
  readonly scheduler: Scheduler;
  readonly ledger: MemoryLedger;
  /** Reads the ledger. Fails if this process cannot reach it. */
  readonly read: (organizationId: string, keyId: string, day: UtcDay) => Promise<AccountSnapshot>;
  readonly charge: MemoryLedger['charge'];
  readonly limits: LimitStore;
  /** Set if calls to the limit store pass the scheduler, where they may be late. */
  readonly limitsAreShared: boolean;
  readonly clock: Clock;
  /** The folder of the charge log. */
  readonly folder: string;
  readonly observer: Observer;
  readonly budgetNanoUsd: bigint;
}

const MODEL = modelWith({
  contextWindow: 1_000_000,
  priceTable: flatTable({ ...NO_PRICES, outputPicoUsd: 1000n }),
});
const CONFIG = { ...configWith(MODEL), timeouts: { totalMs: 900_000, heartbeatMs: 15_000 } };
const RENEW_EVERY_MS = 4_000;
/** The time-out of calls to a store. The call may still be executed. */
const ANSWERED_WITHIN_MS = 10_000;
const metrics = createMetrics();
const log = { warn() {}, error() {}, info() {} } as unknown as AccountingOptions['log'];

/** A gateway process with the real money path; only time and order are simulated. */
export class GatewayProcess implements Runner {
  alive = true;
  stalled = false;
  ready = false;
  readonly chargeLog: ChargeLog;
  readonly #options: ProcessOptions;
  readonly #accounting: Accounting;
  readonly #timers: readonly (() => void)[];
  /** Timers that fire once. */
  readonly #due = new Set<() => void>();
  readonly #waits: Waits;

  static async start(options: ProcessOptions): Promise<GatewayProcess> {
    const process = new GatewayProcess(options, await openLog(options.folder));
    void process.#ship();
    await settled();
    return process;
  }

  private constructor(options: ProcessOptions, chargeLog: ChargeLog) {
    this.#options = options;
    this.#waits = new Waits(options.clock);
    this.chargeLog = chargeLog;
    const { scheduler, clock, ledger, charge } = options;
    const limits = this.#gatedLimits();
    const disk = <T>(name: string, work: () => Promise<T>) => scheduler.call(this, `log ${name}`, work);
    const played = playTimers(() => {
      const holds = new HoldKeeper({
        ...{ limits, clock, log },
        renewEveryMs: RENEW_EVERY_MS,
        renewWithinMs: 9_000,
        onProblem: () => undefined,
      });
      const gatedLedger = {
        ...ledger,
        charge: (settlement: Parameters<typeof charge>[0]) =>
          this.#answered(scheduler.call(this, 'charge', () => charge(settlement), { repeatable: true })),
      };
      return new Accounting({
        ledger: gatedLedger,
        attempts: { record: () => undefined },
        holds,
        // Calls to the disk are scheduled too.
        chargeLog: {
          open: (intent) => chargeLog.open(intent),
          append: (settlement) => disk('append', () => chargeLog.append(settlement)),
          waiting: () => chargeLog.waiting(),
          read: (generationId) => disk('read', () => chargeLog.read(generationId)),
          committed: (generationIds, epoch) => chargeLog.committed(generationIds, epoch),
          isFailing: () => chargeLog.isFailing(),
          sendAgain: async () => 0,
          lastCommits: [],
        },
        room: { problem: () => undefined },
        durableIn: () => 'log',
        after: (_ms, due) => {
          this.#due.add(due);
          return () => this.#due.delete(due);
        },
        idempotency: { free: async () => undefined },
        othersTakeMs: 0,
        clock,
        metrics,
        log,
      });
    });
    this.#accounting = played.made;
    this.#timers = played.timers;
  }

  /** Fires the intervals of the process. */
  tick(): void {
    if (!this.alive || this.stalled) return;
    this.#waits.endLate();
    for (const timer of this.#timers) timer();
    for (const due of [...this.#due]) {
      this.#due.delete(due);
      due();
    }
  }

  #answered<T>(work: Promise<T>): Promise<T> {
    return this.#waits.within(ANSWERED_WITHIN_MS, work, () =>
      Promise.reject(new StoreUnavailable('no answer in time')),
    );
  }

  async close(): Promise<void> {
    this.alive = false;
    await this.chargeLog.close();
  }

  /** Like main.ts, admits nobody before the charges of the log are in the balances. */
  async #ship(): Promise<void> {
    while (this.alive && !this.ready) {
      await this.#accounting.shipper.ship().then(
        () => {
          this.ready = true;
        },
        () => undefined,
      );
    }
  }

  /** `requests/complete.ts` with a simulated provider. Never rejects. */
  async serve(ask: Ask): Promise<void> {
    const { observer } = this.#options;
    try {
      await this.#serve(ask);
    } catch (error) {
      if (!(error instanceof Error && error.name === 'StoreUnavailable')) observer.bug(error);
      observer.failed(ask);
    }
  }

  async #serve(ask: Ask): Promise<void> {
    const { scheduler, read, clock, observer, budgetNanoUsd } = this.#options;
    const { generationId, organizationId, keyId, limitNanoUsd: limit } = ask;
    const readPrincipal = (day: number) =>
      this.#answered(
        scheduler.call(this, 'read', async () => {
          const account = await read(organizationId, keyId, day);
          return { ...callerWith(keyId, organizationId, budgetNanoUsd), account };
        }),
      );
    const principal = await readPrincipal(utcDay(clock.nowMs()));
    if (this.#accounting.refusesBecause() !== undefined) return observer.failed(ask);
    const admission = await admit(
      { limits: this.#gatedLimits(), metrics, clock },
      {
        generationId,
        principal,
        chat: { ...CHAT, model: MODEL.id, maxTokens: limit },
        choice: { model: MODEL, outputLimit: limit, heldOutputTokens: limit, leastOutputTokens: 1 },
        config: CONFIG,
        readAgain: readPrincipal,
        chooseByCount: async () => undefined,
      },
    ).catch((error: unknown) => {
      this.#accounting.releaseUnknown({ generationId, organizationId, keyId });
      throw error;
    });
    if (isRefusal(admission)) return observer.failed(ask);
    const { priceTable, id: model } = MODEL;
    const hold = this.#accounting.open({
      ...{ generationId, organizationId, keyId, day: admission.day, model, priceTable, streamed: true, createdAtMs: 0 },
      mostOutputTokens: limit,
      ...{ holdNanoUsd: admission.holdNanoUsd, totalTimeoutMs: admission.totalTimeoutMs },
    });
    try {
      await this.#deliver(ask, admission, hold);
    } finally {
      await hold.release();
    }
  }

  async #deliver(ask: Ask, admission: Admission, hold: OpenHold): Promise<void> {
    const { scheduler, observer } = this.#options;
    observer.providerCalled(ask, admission);
    const cancelled = Promise.withResolvers<'cancelled'>();
    hold.mustEnd.addEventListener('abort', () => cancelled.resolve('cancelled'));
    if (hold.mustEnd.aborted) cancelled.resolve('cancelled');
    const answered = scheduler.call(this, 'provider', async () => ask.ending);
    const { totalMs } = CONFIG.timeouts;
    const ending = await this.#waits.within(
      totalMs,
      Promise.race([answered, cancelled.promise]),
      () => 'cancelled' as const,
    );
    observer.providerEnded(ask);
    if (ending === 'nothing') return observer.failed(ask);
    const tokens = ending === 'cancelled' ? Math.floor(ask.tokens / 2) : ask.tokens;
    const refused = await hold.charge(producedOf(tokens, ending === 'cancelled'));
    if (refused || ending === 'cancelled') return observer.failed(ask);
    observer.completed(ask, tokens);
  }

  #gatedLimits(): Pick<LimitStore, 'admit' | 'release' | 'renew'> {
    const { scheduler, limits, limitsAreShared } = this.#options;
    const asked = <T>(name: string, work: () => Promise<T>, repeatable = false): Promise<T> => {
      const called = scheduler.call(this, name, work, { repeatable });
      return limitsAreShared ? this.#answered(called) : called;
    };
    return {
      admit: (request) => asked('admit', () => limits.admit(request)),
      release: (release) => asked('release', () => limits.release(release), true),
      renew: (holds, nowMs) => asked('renew', () => limits.renew(holds, nowMs)),
    };
  }
}

/** Calls `make` so that the history fires the intervals that it sets. */
function playTimers<T>(make: () => T): { readonly made: T; readonly timers: readonly (() => void)[] } {
  const timers: (() => void)[] = [];
  const real = globalThis.setInterval;
  const played = (callback: () => void) => {
    timers.push(callback);
    return { unref() {} };
  };
  globalThis.setInterval = played as unknown as typeof real;
  try {
    return { made: make(), timers };
  } finally {
    globalThis.setInterval = real;
  }
}
