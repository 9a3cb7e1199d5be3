import type pg from 'pg';
import { createJoinedCalls, type Outcome } from '#core/batching/joined-calls.ts';
import type { UtcDay } from '#core/clock.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import { inTransaction, only, sql } from '../connection/connection-pool.ts';
import type { BatchOptions } from '../connection/store-figures.ts';
import { isRefusedRow, isRollback } from '../connection/unavailable.ts';
import type { Loss, LossReason, OnLoss } from '../costs/losses.ts';
import { type AccountFields, snapshotOf } from '../keys/account-snapshot.ts';
import { chargeRecords, extrasOf, storable } from './charge-records.ts';
import { endClaim, inClaimOrder, inParts } from './claimed-settlement.ts';
import { ChargeRefused, type ClaimedSettlement, type Settlement } from './ledger.ts';
import { addLosses, tellLosses } from './loss-rows.ts';

/**
 * The group commit runs one commit at a time. Charges that arrive meanwhile share the next. On a
 * slow machine a commit of one charge takes PostgreSQL 840 us of CPU, but 91 us a charge in a batch
 * of 16 and 63 us in one of 32 (measured). So processes send charges in batches
 * (ext-proc/billing/shipper.ts).
 */
const BOUNDS = { maxBatch: 500, maxInFlight: 1, paceMs: 0, maxWaiting: 20_000, waitMs: 10_000 };
/**
 * Claimed charges have smaller batches, because each brings a response of up to
 * `limits.response_body`, sent as its own statement. They delay no other charges.
 */
const CLAIMED_BOUNDS = { maxBatch: 16, maxInFlight: 2, paceMs: 0, maxWaiting: 20_000, waitMs: 10_000 };
/** Batches lock accounts in one order, so only an operator's session could cause a deadlock. */
const MAX_TRIES = 3;

const CHARGE = sql('charge_generations')`
  select charge_generations($1::charge[], $2::text[], $3::bigint[], $4::bigint[]) as charged`;

const CHARGE_STORED = sql('charge_stored_responses')`
  select charged, evicted::int from charge_stored_responses($1::charge[], $2::text[], $3::bigint[], $4::bigint[], $5, $6, $7)`;

/** Reply of the SQL function as one JSON value, not as a row of text columns per charge. */
interface Charged {
  readonly epoch: string;
  readonly accounts: readonly AccountAfter[];
  readonly losses?: readonly (readonly [reason: LossReason, amountNanoUsd: string])[] | null;
}

type AccountAfter = readonly [keyId: string, day: UtcDay, ...AccountFields];

/** Commits the whole batch, or rejects and commits nothing. */
type CommitOnce<S extends Settlement, R> = (batch: readonly S[]) => Promise<readonly Outcome<R>[]>;

export interface SettlementOptions extends BatchOptions {
  readonly onLoss?: OnLoss;
}

/** Group commit of charges (docs/design.md, "Charges"). */
export function createSettlementWriter(
  pool: pg.Pool,
  { onBatch, onLoss }: SettlementOptions,
): (settlement: Settlement) => Promise<AccountSnapshot> {
  const once: CommitOnce<Settlement, AccountSnapshot> = async (batch) => {
    const charged = batch.some(losesByTier)
      ? await inTransaction(pool, 'begin', (client) => chargeWithLosses(client, batch))
      : await charge(pool, batch);
    tellLosses(charged.losses ?? [], onLoss);
    return snapshotsOf(charged, batch);
  };
  const charges = createJoinedCalls({
    store: 'PostgreSQL',
    bounds: BOUNDS,
    runBatch: (batch: readonly Settlement[]) => commit(batch, once),
    onBatch: (figures) => onBatch?.({ batch: 'settlement', ...figures }),
  });
  return async (settlement) => unlessRefused(await charges(settlement));
}

/** Bound of the bytes of responses that an organization may store, and a callback for evictions. */
export interface StoredResponseBound {
  boundBytes(): number;
  onEvicted?(responses: number): void;
}

export interface ClaimedOptions extends SettlementOptions {
  readonly storedResponses: StoredResponseBound;
}

/** Writes charges with an Idempotency-Key: fence, stored response and charge in one transaction. */
export function createClaimedSettlementWriter(
  pool: pg.Pool,
  { onBatch, onLoss, storedResponses }: ClaimedOptions,
): (settlement: ClaimedSettlement) => Promise<AccountSnapshot | undefined> {
  const once: CommitOnce<ClaimedSettlement, AccountSnapshot | undefined> = async (batch) => {
    const owned: ClaimedSettlement[] = [];
    const sizes: number[] = [];
    const boundBytes = storedResponses.boundBytes();
    const ended = await inTransaction(pool, 'begin', async (client) => {
      for (const settlement of inClaimOrder(batch)) {
        const stored = await endClaim(client, settlement, boundBytes);
        if (stored === undefined) continue;
        owned.push(settlement);
        sizes.push(stored);
      }
      if (owned.length === 0) return undefined;
      const stored = await chargeStored(client, owned, sizes, boundBytes);
      return { ...stored, charged: await withTierLosses(client, owned, stored.charged) };
    });
    if (ended === undefined) return batch.map(() => ({ ok: true, value: undefined }));
    const { charged, evicted } = ended;
    if (evicted > 0) storedResponses.onEvicted?.(evicted);
    tellLosses(charged.losses ?? [], onLoss);
    const snapshots = snapshotsOf(charged, owned);
    return batch.map((settlement) => snapshots[owned.indexOf(settlement)] ?? { ok: true, value: undefined });
  };
  const charges = createJoinedCalls({
    store: 'PostgreSQL',
    bounds: CLAIMED_BOUNDS,
    runBatch: async (batch: readonly ClaimedSettlement[]) => {
      const outcomes: Outcome<AccountSnapshot | ChargeRefused | undefined>[] = [];
      for (const part of inParts(batch)) outcomes.push(...(await commit(part, once)));
      return outcomes;
    },
    onBatch: (figures) => onBatch?.({ batch: 'claimed_settlement', ...figures }),
  });
  return async (settlement) => unlessRefused(await charges(settlement));
}

function unlessRefused<R>(outcome: R | ChargeRefused): R {
  if (outcome instanceof ChargeRefused) throw outcome;
  return outcome;
}

/**
 * Commits a batch. If PostgreSQL refuses a row, the batch is halved until that row fails alone, so
 * the others commit in several transactions. The refusal is a value: PostgreSQL has answered, so it
 * must not count as a failed batch.
 */
async function commit<S extends Settlement, R>(
  batch: readonly S[],
  once: CommitOnce<S, R>,
): Promise<readonly Outcome<R | ChargeRefused>[]> {
  for (let tries = 1; ; tries++) {
    try {
      return await once(batch);
    } catch (error) {
      if (isRollback(error) && tries < MAX_TRIES) continue;
      if (!isRefusedRow(error)) return batch.map(() => ({ ok: false, error }));
      const [only] = batch;
      if (batch.length === 1 && only) {
        const value = new ChargeRefused(`PostgreSQL refused the charge of ${only.generationId}`, { cause: error });
        return [{ ok: true, value }];
      }
      const middle = Math.ceil(batch.length / 2);
      const first = await commit(batch.slice(0, middle), once);
      return [...first, ...(await commit(batch.slice(middle), once))];
    }
  }
}

/** Charges one settlement in the caller's transaction. Throws PostgreSQL's error. */
export async function chargeOne(client: pg.PoolClient, settlement: Settlement): Promise<void> {
  await chargeWithLosses(client, [settlement]);
}

async function charge(on: pg.Pool | pg.PoolClient, batch: readonly Settlement[]): Promise<Charged> {
  return (await only<{ charged: Charged }>(on, CHARGE, [chargeRecords(batch), ...extrasOf(batch)])).charged;
}

/**
 * Charges, and updates the sums of stored bytes, in one statement. The sums are locked after the
 * accounts, so that accounts are not locked for longer.
 */
async function chargeStored(
  client: pg.PoolClient,
  batch: readonly Settlement[],
  sizes: readonly number[],
  boundBytes: number,
): Promise<{ charged: Charged; evicted: number }> {
  const stored = batch.flatMap(({ organizationId }, index) => {
    const bytes = sizes[index] ?? 0;
    return bytes > 0 ? [{ organizationId, bytes }] : [];
  });
  if (stored.length === 0) return { charged: await charge(client, batch), evicted: 0 };
  return only(client, CHARGE_STORED, [
    chargeRecords(batch),
    ...extrasOf(batch),
    stored.map(({ organizationId }) => organizationId),
    stored.map(({ bytes }) => bytes),
    boundBytes,
  ]);
}

/** Books each loss once, together with its charge, in the caller's transaction. */
async function chargeWithLosses(client: pg.PoolClient, batch: readonly Settlement[]): Promise<Charged> {
  return withTierLosses(client, batch, await charge(client, batch));
}

async function withTierLosses(client: pg.PoolClient, batch: readonly Settlement[], charged: Charged): Promise<Charged> {
  const losses = batch
    .filter(losesByTier)
    .map(({ tierLossNanoUsd: loss = 0n, ...of }): Loss => ({ ...of, reason: 'tier', amountNanoUsd: storable(loss) }));
  if (losses.length === 0) return charged;
  return { ...charged, losses: [...(charged.losses ?? []), ...(await addLosses(client, losses))] };
}

function losesByTier({ tierLossNanoUsd = 0n }: Settlement): boolean {
  return tierLossNanoUsd > 0n;
}

function snapshotsOf({ epoch, accounts }: Charged, batch: readonly Settlement[]): readonly Outcome<AccountSnapshot>[] {
  const snapshots = new Map(
    accounts.map(([keyId, day, ...fields]) => [`${keyId} ${day}`, snapshotOf(epoch, day, fields)]),
  );
  return batch.map(({ generationId, keyId, day }) => {
    const value = snapshots.get(`${keyId} ${day}`);
    if (!value) return { ok: false, error: new Error(`no account came back for ${generationId}`) };
    return { ok: true, value };
  });
}
