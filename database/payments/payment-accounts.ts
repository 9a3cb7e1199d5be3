import type pg from 'pg';
import { type NanoUsd, nanoUsdOfCents } from '#core/money.ts';
import { type Actor, STRIPE } from '../audit/audit.ts';
import { changesBetween, isEmpty } from '../audit/audit-changes.ts';
import { addAuditEvent } from '../audit/audit-log.ts';
import { inTransaction, run, sql } from '../connection/connection-pool.ts';
import { milliseconds } from '../connection/milliseconds.ts';
import { noteUnusedCards } from './unused-cards.ts';

/** Stripe customer, saved card and top-up settings of an organization. */
export interface PaymentAccount {
  readonly customerId: string;
  /** Brand and last digits, such as `visa 4242`. */
  readonly card?: string;
  /** The card at Stripe. */
  readonly paymentMethodId?: string;
  readonly automatic?: AutomaticTopUp;
  /** The failure of an automatic top-up. No other begins until a person acts. */
  readonly stopped?: { readonly atMs: number; readonly reason: string };
}

export interface AutomaticTopUp {
  /** Balance below which a top-up begins. */
  readonly belowNanoUsd: NanoUsd;
  readonly amountCents: bigint;
  /** The largest sum of automatic top-ups in one UTC day. */
  readonly dailyCents: bigint;
}

export interface SavedCard {
  readonly customerId: string;
  readonly paymentMethodId: string;
  readonly card: string;
  /** Time of saving, by Stripe's clock. */
  readonly savedAtMs: number;
}

const COLUMNS = `p.customer_id, p.card, p.payment_method_id, p.automatic, p.below_nano_usd, p.amount_cents, p.daily_cents, p.failure,
  ${milliseconds('p.stopped_at')} as stopped_ms`;
const FIND = sql('find_payment_account')`select ${COLUMNS} from payment_accounts p where p.organization_id = $1`;
const LOCK = sql('lock_payment_account')`
  select ${COLUMNS}, o.name from payment_accounts p join organizations o on o.id = p.organization_id
    where p.organization_id = $1 for update of p`;
const OPEN = sql('open_payment_account')`
  insert into payment_accounts (organization_id, customer_id) values ($1, $2) on conflict (organization_id) do nothing`;
const CLOSE = sql('close_payment_account')`
  delete from payment_accounts where organization_id = $1 and customer_id = $2`;
const OWNER = sql('organization_of_customer')`
  select organization_id as id from payment_accounts where customer_id = $1`;
/** Saves a card, unless a card that was saved later is known. Events may arrive in any order. */
const SAVE_CARD = sql('save_card')`
  update payment_accounts
    set payment_method_id = $2, card = $3, card_saved_at = to_timestamp($4::double precision / 1000), stopped_at = null, failure = null
    where customer_id = $1 and (card_saved_at is null or card_saved_at < to_timestamp($4::double precision / 1000))`;
/** Removes the card and sets `card_saved_at` to now: a late event must not restore it. */
const FORGET_CARD = sql('forget_card')`
  update payment_accounts set payment_method_id = null, card = null, automatic = false, card_saved_at = now()
    where organization_id = $1`;
const END_OPEN = sql('end_open_automatic_top_up')`
  update top_ups set state = 'failed', failure = $2
    where organization_id = $1 and automatic and state = 'open' and payment_intent_id is null`;
/**
 * Ends a top-up only if Stripe was not asked yet. Otherwise the card may have been charged, and the
 * next round looks for the payment first.
 */
const END_UNASKED = sql('end_unasked_automatic_top_up')`${END_OPEN.text} and asked_at is null`;
const SET = sql('set_automatic_top_up')`
  update payment_accounts
    set automatic = $2, below_nano_usd = coalesce($3, below_nano_usd), amount_cents = coalesce($4, amount_cents),
      daily_cents = coalesce($5, daily_cents), stopped_at = null, failure = null
    where organization_id = $1`;

interface AccountRow {
  readonly customer_id: string;
  readonly card: string | null;
  readonly payment_method_id: string | null;
  readonly automatic: boolean;
  readonly below_nano_usd: string | null;
  readonly amount_cents: string | null;
  readonly daily_cents: string | null;
  readonly failure: string | null;
  readonly stopped_ms: number | null;
}

export async function findPaymentAccount(pool: pg.Pool, organizationId: string): Promise<PaymentAccount | undefined> {
  const [row] = await run<AccountRow>(pool, FIND, [organizationId]);
  return row && accountOf(row);
}

/** Stores the customer, unless another process stored one first. */
export async function openPaymentAccount(
  pool: pg.Pool,
  organizationId: string,
  customerId: string,
): Promise<PaymentAccount> {
  await run(pool, OPEN, [organizationId, customerId]);
  const account = await findPaymentAccount(pool, organizationId);
  if (!account) throw new Error('a payment account vanished');
  return account;
}

/** Removes a customer that Stripe does not have, with its card and settings. */
export async function closePaymentAccount(pool: pg.Pool, organizationId: string, customerId: string): Promise<void> {
  await change(pool, organizationId, { actor: STRIPE }, async (client) => {
    await run(client, END_OPEN, [organizationId, 'Stripe does not have the card any more.']);
    await run(client, CLOSE, [organizationId, customerId]);
  });
}

/** Saves a card, unless it came too late. Returns the organization. */
export async function saveCard(
  pool: pg.Pool,
  { customerId, paymentMethodId, card, savedAtMs }: SavedCard,
): Promise<string | undefined> {
  const [owner] = await run<{ id: string }>(pool, OWNER, [customerId]);
  if (!owner) return undefined;
  const values = [customerId, paymentMethodId, card, savedAtMs];
  await change(pool, owner.id, { actor: STRIPE }, async (client, { paymentMethodId: former }) => {
    await run(client, SAVE_CARD, values);
    await noteUnusedCards(client, owner.id, [paymentMethodId, ...(former === undefined ? [] : [former])]);
  });
  return owner.id;
}

/** Removes the card and turns automatic top-up off. */
export async function forgetCard(pool: pg.Pool, organizationId: string, by: Actor): Promise<void> {
  await change(pool, organizationId, by, async (client, { paymentMethodId: former }) => {
    await run(client, FORGET_CARD, [organizationId]);
    await run(client, END_UNASKED, [organizationId, 'The card was removed.']);
    if (former !== undefined) await noteUnusedCards(client, organizationId, [former]);
  });
}

/**
 * Sets automatic top-up, or turns it off with `undefined`. It continues after a failure. False:
 * there is no saved card to charge.
 */
export async function setAutomaticTopUp(
  pool: pg.Pool,
  organizationId: string,
  settings: AutomaticTopUp | undefined,
  by: Actor,
): Promise<boolean> {
  return change(pool, organizationId, by, async (client, { card }) => {
    if (settings !== undefined && card === undefined) return;
    const { belowNanoUsd = null, amountCents = null, dailyCents = null } = settings ?? {};
    await run(client, SET, [organizationId, settings !== undefined, belowNanoUsd, amountCents, dailyCents]);
    if (settings === undefined) await run(client, END_UNASKED, [organizationId, 'Automatic top-up was turned off.']);
  }).then((after) => settings === undefined || after?.automatic !== undefined);
}

async function change(
  pool: pg.Pool,
  organizationId: string,
  by: Actor,
  work: (client: pg.PoolClient, before: PaymentAccount) => Promise<unknown>,
): Promise<PaymentAccount | undefined> {
  return inTransaction(pool, 'begin', async (client) => {
    const [row] = await run<AccountRow & { name: string }>(client, LOCK, [organizationId]);
    if (!row) return undefined;
    const before = accountOf(row);
    await work(client, before);
    const [after] = await run<AccountRow>(client, LOCK, [organizationId]);
    const changes = changesBetween(fieldsOf(before), after ? fieldsOf(accountOf(after)) : {});
    const subject = { organizationId, subjectId: organizationId, subjectName: row.name };
    if (!isEmpty(changes))
      await addAuditEvent(client, { action: 'organization.automatic_top_up', ...subject, changes }, by);
    return after && accountOf(after);
  });
}

function fieldsOf({ card, automatic, stopped }: PaymentAccount) {
  return {
    card,
    belowNanoUsd: automatic?.belowNanoUsd,
    amountNanoUsd: automatic && nanoUsdOfCents(automatic.amountCents),
    dailyNanoUsd: automatic && nanoUsdOfCents(automatic.dailyCents),
    stoppedAtMs: stopped?.atMs,
  };
}

function accountOf(row: AccountRow): PaymentAccount {
  const { below_nano_usd: below, amount_cents: amount, daily_cents: daily } = row;
  const isOn = row.automatic && below !== null && amount !== null && daily !== null;
  return {
    customerId: row.customer_id,
    ...(row.card === null ? {} : { card: row.card }),
    ...(row.payment_method_id === null ? {} : { paymentMethodId: row.payment_method_id }),
    ...(isOn
      ? { automatic: { belowNanoUsd: BigInt(below), amountCents: BigInt(amount), dailyCents: BigInt(daily) } }
      : {}),
    ...(row.stopped_ms === null ? {} : { stopped: { atMs: row.stopped_ms, reason: row.failure ?? 'unknown' } }),
  };
}
