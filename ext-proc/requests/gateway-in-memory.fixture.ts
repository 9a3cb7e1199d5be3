import { createHash } from 'node:crypto';
import type { Clock } from '#core/clock.ts';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import type { Log } from '#core/log/log.ts';
import type { Key, Organization } from '#core/principal.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import { createMemoryLedger } from '#test/contract/memory-ledger.ts';
import { memoryChargeLog } from '#test/fixtures/memory-charge-log.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { Accounting } from '../billing/accounting.ts';
import { HoldKeeper } from '../billing/hold-keeper.ts';
import type { DeliveryService } from '../delivery/delivery-service.ts';
import { DoorTranslator } from '../doors/reading/door-translator.ts';
import { ValidationTurns } from '../fairness/validation-turns.ts';
import { MemoryLimitStore } from '../limits/memory/memory-limit-store.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import type { ExchangeHandler } from '../transport/exchange.ts';
import { createRequestHandler, type RequestHandlerDeps } from './handle-request.ts';

/** Requests of one caller, from headers to charges. Time and delivery are played. */
export interface GatewayInMemory {
  readonly handle: ExchangeHandler;
  /** As they were charged. */
  charges(): readonly Settlement[];
  heldNanoUsd(): Promise<bigint>;
  close(): Promise<void>;
}

export interface GatewayInMemoryOptions {
  readonly clock: Clock;
  readonly config: () => GatewayConfig;
  readonly deliver: DeliveryService['deliver'];
  /** Resolves when the key of a request is found. */
  readonly authenticated?: () => Promise<void>;
  /** What differs of the caller when its key is read. */
  readonly caller?: () => { readonly key?: Partial<Key>; readonly organization?: Partial<Organization> };
}

/** The only key that is known. */
export const KEY = 'sk-gw-1';
/** Name of the list that the organization of the caller has. */
export const PRICE_LIST = 'partner';
const CREDIT_NANO_USD = 10n ** 15n;
/** Longer than any history: what becomes of lost holds is tested elsewhere. */
const LEASE_MS = 365 * 86_400_000;
const LEASES = { renewEveryMs: 60_000, renewWithinMs: 60_000, onProblem() {} };
const metrics = createMetrics();
const log = { info() {}, warn() {}, error() {} } as unknown as Log;

export function gatewayInMemory(options: GatewayInMemoryOptions): GatewayInMemory {
  const { clock, config, deliver, authenticated, caller } = options;
  const { key, organization } = principalWith();
  const known = createHash('sha256').update(KEY).digest();
  const ledger = createMemoryLedger();
  ledger.addKey(organization.id, key.id);
  ledger.credit(organization.id, CREDIT_NANO_USD);
  const limits = new MemoryLimitStore({ leaseMs: LEASE_MS });
  const holds = new HoldKeeper({ limits, clock, log, ...LEASES });
  const accounting = new Accounting({
    ...{ ledger, holds, clock, metrics, log, othersTakeMs: 0 },
    idempotency: { free: async () => undefined },
    attempts: { record: () => undefined },
    chargeLog: memoryChargeLog(),
    room: { problem: () => undefined },
    durableIn: () => 'database',
  });
  const unused = {} as never;
  const deps: RequestHandlerDeps = {
    ...{ limits, accounting, clock, config, metrics, log, ledger },
    ...{ claims: unused, turns: unused, tracing: unused },
    delivery: { deliver } as unknown as DeliveryService,
    keys: {
      async findByHash(hash, day) {
        await authenticated?.();
        if (!hash.equals(known)) return undefined;
        const changes = caller?.();
        const principal = principalWith(changes?.key, { priceList: PRICE_LIST, ...changes?.organization });
        return { ...principal, account: ledger.read(organization.id, key.id, day) };
      },
    },
    validationTurns: new ValidationTurns(),
    doorTranslator: new DoorTranslator(),
    boundTokens: async () => undefined,
    reasoning: { keep: async () => undefined, find: async () => [] },
    requestLog: { add: () => undefined, addRefused: () => false },
    isProbe: () => false,
  };
  return {
    handle: createRequestHandler(deps),
    charges: ledger.charges,
    heldNanoUsd: () => limits.heldNanoUsd(organization.id, clock.nowMs()),
    close: () => accounting.close(),
  };
}
