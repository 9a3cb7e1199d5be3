import { systemClock as clock, utcDay } from '#core/clock.ts';
import { newId } from '#core/ids.ts';
import type { Log } from '#core/log/log.ts';
import { flatTable, NO_PRICES, NO_USAGE } from '#core/pricing.ts';
import type { Ledger } from '#database/ledger/ledger.ts';
import { Accounting } from '#ext-proc/billing/accounting.ts';
import { openLog } from '#ext-proc/billing/charge-log/charge-log.fixture.ts';
import { watchLogRoom } from '#ext-proc/billing/charge-log/log-room.ts';
import { HoldKeeper } from '#ext-proc/billing/hold-keeper.ts';
import { Claims, type IdempotencyClaim } from '#ext-proc/billing/idempotency/claims.ts';
import type { OpenHold } from '#ext-proc/billing/open-hold.ts';
import type { ProviderOutput } from '#ext-proc/hold/delivery-hold.ts';
import { MemoryLimitStore } from '#ext-proc/limits/memory/memory-limit-store.ts';
import { createMetrics } from '#ext-proc/telemetry/metrics.ts';
import { type Customer, DAY, type TestStore } from '../harness/database.ts';

const LEASES = { renewEveryMs: 4_000, renewWithinMs: 9_000, onProblem() {} };
const ASKED = { createdAtMs: 1, streamed: false, mostOutputTokens: 1 };
const TABLE = flatTable({ ...NO_PRICES, inputPicoUsd: 1_000_000n, outputPicoUsd: 1_000_000n });
/** The hold of each request. */
export const HELD = 50_000n;
/** The output of a provider, with a usage of 37 tokens. */
export const PRODUCED: ProviderOutput = {
  provider: 'p',
  providerModel: 'm-1',
  usage: { ...NO_USAGE, promptTokens: 30, completionTokens: 7, reasoningTokens: 1 },
  usageCounted: false,
  cancelled: false,
  firstEventMs: 1,
  generationTimeMs: 1,
};
/** More than the cost of all requests. */
const BALANCE = 1_000_000_000n;
const silent = { info() {}, warn() {}, error() {} } as unknown as Log;

export interface AccountingScene {
  readonly store: TestStore;
  readonly customer: Customer;
  /** The folder of the charge log. */
  readonly folder: string;
  readonly durableIn: () => 'log' | 'database';
  /** Calls of the ledger that a test replaces. */
  readonly changes: Partial<Ledger>;
}

/** Starts the accounting of a process that keeps limits in memory. */
export async function startAccounting({ store, customer, folder, durableIn, changes }: AccountingScene) {
  const limits = new MemoryLimitStore({ leaseMs: 60_000 });
  const holds = new HoldKeeper({ limits, clock, log: silent, ...LEASES });
  const chargeLog = await openLog(folder);
  const stores = { ledger: { ...store.ledger, ...changes }, idempotency: store.idempotency };
  const room = await watchLogRoom(folder);
  const kept = { chargeLog, durableIn, othersTakeMs: 0, holds };
  const watched = { attempts: { record: () => undefined }, metrics: createMetrics(), log: silent };
  const accounting = new Accounting({ ...stores, ...kept, ...watched, room, clock });
  const claims = new Claims({ store: store.idempotency, leaseMs: 15_000, renewEveryMs: 5_000, log: silent });
  return {
    accounting,
    claims,
    chargeLog,
    heldNanoUsd: () => limits.heldNanoUsd(customer.organizationId, clock.nowMs()),
    async open(claim?: IdempotencyClaim, generationId = newId('gen', clock.nowMs())): Promise<OpenHold> {
      const { organizationId, keyId } = customer;
      // A snapshot of the day before would be read again forever.
      const nowMs = clock.nowMs();
      const day = utcDay(nowMs);
      const snapshot = { organization: { sequence: 1, balanceNanoUsd: BALANCE, day, spentNanoUsd: 0n } };
      const key = { sequence: 1, day, spentNanoUsd: 0n };
      const request = {
        ...{ holdId: generationId, organizationId, keyId, nowMs, concurrency: 1000, tokens: 1 },
        ...{ organizationLimits: {}, keyLimits: {}, holdNanoUsd: HELD, totalTimeoutMs: 60_000 },
        snapshot: { ledgerEpoch: 'epoch', ...snapshot, key },
      };
      while ((await limits.admit(request)).kind === 'read_again');
      const terms = { ...ASKED, generationId, organizationId, keyId, day: DAY, model: 'm', priceTable: TABLE };
      return accounting.open({ ...terms, ...(claim ? { claim } : {}), holdNanoUsd: HELD, totalTimeoutMs: 60_000 });
    },
    async end() {
      claims.close();
      await accounting.close();
      room.close();
      await chargeLog.close();
    },
  };
}
