import type pg from 'pg';
import { nanoUsdOfCents } from '#core/money.ts';
import { reportFailedTopUp } from '../alerts/organization-messages.ts';
import { STRIPE } from '../audit/audit.ts';
import { inTransaction, run, sql } from '../connection/connection-pool.ts';
import { isTaken } from '../connection/unavailable.ts';
import { addCredit } from '../organizations/add-credit.ts';
import type { PaymentFacts, Reversal, SettledPayment } from './payment-facts.ts';

/**
 * The only place where paid money enters the ledger, and where returned money leaves it. Facts are
 * compared with what is booked, and each difference becomes one entry. So events may arrive in any
 * order and any number of times.
 */

const BEGIN_READ = sql('begin_read_of_payment')`
  update top_ups set reads_begun = reads_begun + 1 where id = $1 returning reads_begun as number`;
const LOCK = sql('lock_top_up')`
  select t.organization_id, t.automatic, t.amount_cents, t.state, t.payment_intent_id, t.reads_applied, o.name
    from top_ups t join organizations o on o.id = t.organization_id where t.id = $1 for update of t`;
const APPLY = sql('apply_payment')`
  update top_ups set state = case when $2 = 'open' then state else $2 end, failure = case when $2 = 'open' then coalesce($3, failure) else $3 end,
      payment_intent_id = $4, receipt_url = coalesce($5, receipt_url), reads_applied = $6
    where id = $1`;
const REFUSE = sql('refuse_payment')`
  update top_ups set state = case when state = 'paid' then state else 'refused' end, failure = $2, reads_applied = $3, refused_payment_id = $4
    where id = $1`;
const STOP = sql('stop_automatic_top_up')`
  update payment_accounts set stopped_at = now(), failure = $2 where organization_id = $1 and stopped_at is null`;
/** The organization for which the payment is booked: the top-up's, or an operator's choice. */
const BOOKED_FOR = sql('organization_of_payment')`
  select o.id, o.name from credit_references r join organizations o on o.id = r.organization_id where r.reference = $1`;
const REVERSALS = sql('reversals_of_top_up')`
  select id, amount_cents, entries from top_up_reversals where top_up_id = $1`;
const KEEP_REVERSAL = sql('keep_reversal')`
  insert into top_up_reversals (id, top_up_id, amount_cents, entries) values ($1, $2, $3, 1)
    on conflict (id) do update set amount_cents = excluded.amount_cents, entries = top_up_reversals.entries + 1`;

interface TopUpRow {
  readonly organization_id: string;
  readonly automatic: boolean;
  readonly amount_cents: string;
  readonly state: string;
  readonly payment_intent_id: string | null;
  readonly reads_applied: string;
  readonly name: string;
}

interface Payee {
  readonly id: string;
  readonly name: string;
}

const ELSEWHERE = 'The payment was booked for another organization before.';
const BY_STRIPE = { actor: STRIPE };

/** Begins a read of Stripe, and returns its number. `undefined`: there is no such top-up. */
export async function beginRead(pool: pg.Pool, topUpId: string): Promise<bigint | undefined> {
  const [row] = await run<{ number: string }>(pool, BEGIN_READ, [topUpId]);
  return row && BigInt(row.number);
}

/** Applies the result of the read with that number. */
export async function settlePayment(pool: pg.Pool, facts: PaymentFacts, readNumber: bigint): Promise<SettledPayment> {
  try {
    return await inTransaction(pool, 'begin', (client) => settle(client, facts, readNumber));
  } catch (error) {
    if (!isTaken(error, 'credit_references_pkey')) throw error;
    // An operator booked the payment a moment ago, or has booked one of its reversals elsewhere.
    await run(pool, REFUSE, [facts.topUpId, ELSEWHERE, readNumber, facts.paymentIntentId]);
    return { kind: 'refused', reason: ELSEWHERE, entries: 0 };
  }
}

async function settle(client: pg.PoolClient, facts: PaymentFacts, readNumber: bigint): Promise<SettledPayment> {
  const { topUpId, paymentIntentId, currency, outcome } = facts;
  const [row] = await run<TopUpRow>(client, LOCK, [topUpId]);
  if (!row) return { kind: 'unknown' };
  if (readNumber <= BigInt(row.reads_applied)) return { kind: 'outdated' };
  const [booked] = await run<Payee>(client, BOOKED_FOR, [paymentIntentId]);
  const reason = mismatch(row, facts, booked);
  if (reason !== undefined) {
    await run(client, REFUSE, [topUpId, reason, readNumber, paymentIntentId]);
    const entries = booked && currency === 'usd' ? await bookReversals(client, booked, facts) : 0;
    return { kind: 'refused', reason, entries };
  }
  const failure = outcome.kind === 'paid' ? undefined : outcome.reason;
  const receiptUrl = outcome.kind === 'paid' ? outcome.receiptUrl : undefined;
  await run(client, APPLY, [topUpId, outcome.kind, failure ?? null, paymentIntentId, receiptUrl ?? null, readNumber]);
  // Stops only once, because a person may have acted since.
  if (outcome.kind === 'failed' && row.state !== 'failed') {
    if (row.automatic) await run(client, STOP, [row.organization_id, outcome.reason]);
    const amountNanoUsd = nanoUsdOfCents(BigInt(row.amount_cents));
    await reportFailedTopUp(client, row.organization_id, { amountNanoUsd, automatic: row.automatic });
  }
  if (outcome.kind !== 'paid') return { kind: 'settled', entries: 0 };
  const organization = { id: row.organization_id, name: row.name };
  const paid = await addCredit(
    client,
    organization,
    { amountNanoUsd: nanoUsdOfCents(outcome.amountCents), note: 'Paid by Stripe', reference: paymentIntentId },
    BY_STRIPE,
  );
  const reversed = await bookReversals(client, organization, facts);
  return { kind: 'settled', entries: (paid.kind === 'applied' ? 1 : 0) + reversed };
}

/** The reason why the payment does not match the top-up. */
function mismatch(
  row: TopUpRow,
  { organizationId, currency, paymentIntentId, outcome }: PaymentFacts,
  booked: Payee | undefined,
): string | undefined {
  if (organizationId !== row.organization_id) return 'The payment names another organization.';
  if (row.payment_intent_id !== null && row.payment_intent_id !== paymentIntentId)
    return 'The top-up has another payment already.';
  if (currency !== 'usd') return 'The payment is in another currency.';
  if (outcome.kind === 'paid' && outcome.amountCents !== BigInt(row.amount_cents))
    return 'The payment is of another amount.';
  if (outcome.kind === 'paid' && booked && booked.id !== row.organization_id) return ELSEWHERE;
  // Stripe returns a payment only by a refund or a dispute.
  return row.state === 'paid' && outcome.kind !== 'paid' ? 'The payment was made, and is no more.' : undefined;
}

async function bookReversals(
  client: pg.PoolClient,
  organization: Payee,
  { topUpId, reversals }: PaymentFacts,
): Promise<number> {
  const rows = await run<{ id: string; amount_cents: string; entries: number }>(client, REVERSALS, [topUpId]);
  const booked = new Map(rows.map((row) => [row.id, row]));
  let entries = 0;
  for (const reversal of reversals) {
    const before = booked.get(reversal.id);
    const amountNanoUsd = nanoUsdOfCents(BigInt(before?.amount_cents ?? 0) - reversal.amountCents);
    if (amountNanoUsd === 0n) continue;
    const reference = before === undefined ? reversal.id : `${reversal.id}#${before.entries + 1}`;
    await addCredit(
      client,
      organization,
      { amountNanoUsd, note: noteOf(reversal, amountNanoUsd), reference },
      BY_STRIPE,
    );
    await run(client, KEEP_REVERSAL, [reversal.id, topUpId, reversal.amountCents]);
    // Automatic top-up may not charge again the amount that was just returned.
    if (amountNanoUsd < 0n) await run(client, STOP, [organization.id, 'A payment was refunded or disputed.']);
    entries++;
  }
  return entries;
}

function noteOf({ kind }: Reversal, amountNanoUsd: bigint): string {
  if (kind === 'refund') return amountNanoUsd < 0n ? 'Refunded by Stripe' : 'A refund by Stripe failed';
  return amountNanoUsd < 0n ? 'Disputed at the bank' : 'A disputed amount came back';
}
