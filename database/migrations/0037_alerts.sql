-- Alerts of organizations and operators, and the outbox of what the dashboard sends by mail and webhook.
-- Serves code from version 23 on.
create table alert_settings (
  organization_id text collate "C" primary key references organizations,
  -- Null: no alert about the balance.
  balance_below_nano_usd bigint check (balance_below_nano_usd between 1 and 1000000000000000000),
  key_budgets boolean not null,
  key_expiry boolean not null,
  top_ups boolean not null,
  emails text[] not null check (cardinality(emails) <= 5),
  webhook_url text check (length(webhook_url) between 1 and 2000),
  -- Signs what is sent to webhook_url (Standard Webhooks).
  webhook_secret text check (length(webhook_secret) between 1 and 200),
  check ((webhook_url is null) = (webhook_secret is null))
);

-- Conditions that hold and were reported. Each is reported again only after it has ended.
create table alert_states (
  -- Empty: an alert of the operators.
  organization_id text collate "C" not null,
  kind text not null check (length(kind) between 1 and 50),
  -- Distinguishes conditions of one kind: the key or provider concerned. Empty: the organization has one such condition.
  subject text collate "C" not null check (length(subject) <= 300),
  since timestamptz not null default now(),
  primary key (organization_id, kind, subject)
);

create table outbox (
  id bigint generated always as identity primary key,
  -- The same in each attempt: a receiver knows a repetition by it.
  message_id text not null unique default 'msg_' || replace(gen_random_uuid()::text, '-', ''),
  -- Null: not about one organization.
  organization_id text collate "C" references organizations,
  channel text not null check (channel in ('mail', 'webhook')),
  -- Mail address, or the organization of the webhook. Messages of an organization to one receiver are sent one after another.
  receiver text not null check (length(receiver) between 1 and 320),
  kind text not null check (length(kind) between 1 and 50),
  -- Values for the text, without secrets: the token of a link is made when the link is sent.
  content jsonb not null,
  created_at timestamptz not null default now(),
  next_attempt_at timestamptz not null default now(),
  attempts integer not null default 0,
  -- Lease of the dashboard that sends the message now. Another dashboard may send it after leased_until.
  lease uuid,
  leased_until timestamptz,
  finished_at timestamptz,
  -- Null: waiting.
  outcome text check (outcome in ('delivered', 'failed', 'dropped')),
  check ((finished_at is null) = (outcome is null))
);
create index outbox_waiting on outbox (channel, receiver, id) where finished_at is null;
create index outbox_due on outbox (next_attempt_at) where finished_at is null;
create index outbox_by_organization on outbox (organization_id, id);

create table outbox_attempts (
  outbox_id bigint not null references outbox on delete cascade,
  attempt integer not null,
  began_at timestamptz not null default now(),
  -- Null: the attempt goes on, or its dashboard ended.
  took_ms integer,
  result text check (length(result) <= 300),
  primary key (outbox_id, attempt)
);

-- Looked at every few seconds (database/alerts/crossings.ts).
create index keys_with_budget on keys (organization_id) where daily_budget_nano_usd is not null and revoked_at is null;
create index keys_that_expire on keys (organization_id, expires_at) where expires_at is not null and revoked_at is null;
