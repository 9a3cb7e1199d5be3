-- Payments by Stripe. Stripe is where they happen: rows here are as it was last read, and an entry of the ledger follows each difference.
-- Serves code from version 23 on.

create table top_ups (
  id text collate "C" primary key check (id ~ '^top-[0-9A-HJKMNP-TV-Z]{26}$'),
  organization_id text collate "C" not null references organizations,
  automatic boolean not null,
  amount_cents bigint not null check (amount_cents between 1 and 99999900),
  -- refused: what Stripe has does not match, and an operator has to look.
  state text not null default 'open' check (state in ('open', 'paid', 'failed', 'expired', 'refused')),
  -- For people; of a failed or refused one.
  failure text check (length(failure) between 1 and 500),
  session_id text collate "C" unique check (length(session_id) <= 200),
  payment_intent_id text collate "C" unique check (length(payment_intent_id) <= 190),
  receipt_url text check (length(receipt_url) <= 2000),
  -- Reads of Stripe are numbered as they begin. What an older read says than the newest that was applied is worth nothing.
  reads_begun bigint not null default 0,
  reads_applied bigint not null default 0,
  -- E-mail address; null: automatic.
  created_by text check (length(created_by) <= 300),
  created_at timestamptz not null default now(),
  -- When a process last asked Stripe to charge the saved card.
  asked_at timestamptz,
  paid_at timestamptz
);
create index top_ups_by_organization on top_ups (organization_id, id);
-- One automatic top-up at a time, whatever processes there are.
create unique index top_ups_one_automatic on top_ups (organization_id) where automatic and state = 'open';

-- Refunds and disputes.
create table top_up_reversals (
  id text collate "C" primary key check (length(id) <= 180),
  top_up_id text collate "C" not null references top_ups,
  kind text not null check (kind in ('refund', 'dispute')),
  -- Booked now. 0: the money came back.
  amount_cents bigint not null check (amount_cents between 0 and 99999900),
  -- Number of entries of the ledger about it, which have the references ID, ID#2, ID#3.
  entries integer not null check (entries >= 0)
);
create index top_up_reversals_by_top_up on top_up_reversals (top_up_id);

-- Customer of Stripe, saved card, and automatic top-up of an organization.
create table payment_accounts (
  organization_id text collate "C" primary key references organizations,
  customer_id text collate "C" not null unique check (length(customer_id) <= 200),
  payment_method_id text collate "C" check (length(payment_method_id) <= 200),
  card text check (length(card) <= 100),
  -- Order of saved cards, by Stripe's clock.
  card_saved_at timestamptz,
  automatic boolean not null default false,
  below_nano_usd bigint check (below_nano_usd between 0 and 1000000000000000000),
  amount_cents bigint check (amount_cents between 1 and 99999900),
  daily_cents bigint check (daily_cents between 1 and 9999990000),
  -- Set by a failed top-up, cleared by a person. Nothing is tried meanwhile.
  stopped_at timestamptz,
  failure text check (length(failure) between 1 and 500),
  check (not automatic or (below_nano_usd is not null and amount_cents is not null and daily_cents is not null))
);
create index payment_accounts_automatic on payment_accounts (organization_id) where automatic and stopped_at is null;
