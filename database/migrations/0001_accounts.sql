-- Who may call, and what they have left. Identifiers compare by bytes (collate "C"): they are ASCII, and it is the cheaper comparison.

create table ledger_state (
  single boolean primary key default true check (single),
  -- Changes when the database may have gone back in time (restore, failover): what limit stores remember is then worth nothing.
  epoch uuid not null default gen_random_uuid(),
  -- The gateway process whose memory holds windows and holds. Reads of any other process in memory mode are refused (see memory-mode-lock.ts).
  memory_owner uuid
);
insert into ledger_state default values;

create table organizations (
  id text collate "C" primary key check (id ~ '^org-[0-9A-HJKMNP-TV-Z]{26}$'),
  name text not null check (length(name) between 1 and 200),
  suspended_at timestamptz,
  allow_n boolean not null default false,
  concurrency integer not null check (concurrency between 1 and 1000000),
  rpm bigint check (rpm between 1 and 1000000000),
  tpm bigint check (tpm between 1 and 1000000000000),
  daily_budget_nano_usd bigint check (daily_budget_nano_usd between 0 and 1000000000000000000),
  max_tokens bigint check (max_tokens between 1 and 1000000000),
  created_at timestamptz not null default now()
);
create index organizations_by_creation on organizations (created_at, id);

-- One row per organization: its lock orders everything that happens to the organization's money, and its sequence numbers the ledger.
-- Updated at every settlement, so room is left on the page for updates that touch no index.
create table accounts (
  organization_id text collate "C" primary key references organizations,
  sequence bigint not null default 0 check (sequence >= 0),
  balance_nano_usd bigint not null default 0,
  total_credits_nano_usd bigint not null default 0,
  total_usage_nano_usd bigint not null default 0 check (total_usage_nano_usd >= 0),
  check (balance_nano_usd = total_credits_nano_usd - total_usage_nano_usd)
) with (fillfactor = 50);

create table keys (
  id text collate "C" primary key check (id ~ '^key-[0-9A-HJKMNP-TV-Z]{26}$'),
  organization_id text collate "C" not null references organizations,
  name text not null check (length(name) between 1 and 200),
  -- SHA-256 of the whole key. The key itself is nowhere.
  hash bytea not null unique check (octet_length(hash) = 32),
  last4 text not null check (length(last4) = 4),
  scopes text[] not null check (cardinality(scopes) between 1 and 2 and scopes <@ array['chat', 'usage:read']),
  models text[] check (cardinality(models) between 1 and 200),
  ip_ranges text[] check (cardinality(ip_ranges) between 1 and 200),
  rpm bigint check (rpm between 1 and 1000000000),
  tpm bigint check (tpm between 1 and 1000000000000),
  daily_budget_nano_usd bigint check (daily_budget_nano_usd between 0 and 1000000000000000000),
  expires_at timestamptz,
  revoked_at timestamptz,
  created_at timestamptz not null default now()
);
create index keys_by_organization on keys (organization_id, created_at, id);
