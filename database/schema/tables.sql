-- The tables of a new database. They never change once released: database/migrations/README.md.
--
-- Identifiers compare by bytes (collate "C"): they are ASCII, and it is the cheaper comparison.
-- Amounts are nano-dollars, prices are pico-dollars per token.

-- Ledger state, in one row.

create table ledger_state (
  single boolean primary key default true check (single),
  -- Changes when the database may have gone back in time (restore, failover). Limit stores then
  -- discard their account snapshots.
  epoch uuid not null default gen_random_uuid(),
  -- The server's system identifier, its timeline, the oids of the database and of the table
  -- accounts. Null: not read yet. See note_timeline().
  identity text[] not null default array[null, null, null, null]::text[],
  -- Gateway process whose memory holds windows and holds. Reads of any other process in memory mode
  -- are refused (memory-mode-lock.ts).
  memory_owner uuid,
  -- Name of the store that shares limits among processes, beside memory_owner, which says that
  -- there is one.
  limit_store text,
  -- Newest fence of each shard of that store: one number for all of them, or one for each with
  -- commas between (shard-fences.ts). Text, because every read of a caller compares it with
  -- what it read before.
  store_fences text not null default '0',
  -- Seals the copies of charges that processes leave for each other in Redis.
  mirror_key bytea not null default decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex'),
  -- Key of the hashes that providers get instead of `user`, `safety_identifier` and
  -- `prompt_cache_key`. It is stored, so that all processes send the same hashes, also after a
  -- restart or a restore.
  identity_key bytea not null default decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')
);
insert into ledger_state default values;

-- Organizations, accounts and keys.

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
  -- Name of a price list of the configuration. Null: the prices of the models.
  price_list text check (price_list ~ '^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$'),
  -- Billing data, which owners set. They are on invoices, and decide nothing.
  legal_name text check (length(legal_name) between 1 and 140),
  billing_address text check (length(billing_address) between 1 and 300),
  tax_id text check (length(tax_id) between 1 and 50),
  billing_email text check (length(billing_email) between 1 and 320),
  created_at timestamptz not null default now()
);

-- One row for each organization: its lock orders everything that happens to the organization's
-- money, and its sequence numbers the ledger. Every charge updates it: fillfactor 50 keeps these
-- updates on the page (HOT).
create table accounts (
  organization_id text collate "C" primary key references organizations,
  sequence bigint not null default 0,
  balance_nano_usd bigint not null default 0,
  total_credits_nano_usd bigint not null default 0,
  total_usage_nano_usd bigint not null default 0,
  -- Sum of the undecided dead letters, and how often it changed: hold_dead_letter(). An account
  -- snapshot is `balance - dead_letters` with `sequence + dead_letter_changes`.
  dead_letters_nano_usd bigint not null default 0,
  dead_letter_changes bigint not null default 0,
  -- One check instead of three: PostgreSQL parses each check's expression for every statement.
  constraint accounts_check check (
    balance_nano_usd = total_credits_nano_usd - total_usage_nano_usd and total_usage_nano_usd >= 0 and sequence >= 0
  )
) with (fillfactor = 50);

-- A change of a monthly or lifetime budget locks the account: lock_account_for_budget().
create table keys (
  id text collate "C" primary key check (id ~ '^key-[0-9A-HJKMNP-TV-Z]{26}$'),
  organization_id text collate "C" not null references organizations,
  name text not null check (length(name) between 1 and 200),
  -- For people. The gateway process does not read it.
  note text check (length(note) between 1 and 500),
  -- SHA-256 of the whole key. The key itself is not stored.
  hash bytea not null unique check (octet_length(hash) = 32),
  last4 text not null check (length(last4) = 4),
  scopes text[] not null check (cardinality(scopes) between 1 and 2 and scopes <@ array['chat', 'usage:read']),
  models text[] check (cardinality(models) between 1 and 200),
  ip_ranges text[] check (cardinality(ip_ranges) between 1 and 200),
  rpm bigint check (rpm between 1 and 1000000000),
  tpm bigint check (tpm between 1 and 1000000000000),
  daily_budget_nano_usd bigint check (daily_budget_nano_usd between 0 and 1000000000000000000),
  monthly_budget_nano_usd bigint check (monthly_budget_nano_usd between 0 and 1000000000000000000),
  lifetime_budget_nano_usd bigint check (lifetime_budget_nano_usd between 0 and 1000000000000000000),
  -- Made by the dashboard for its playground. Such keys live for minutes, and lists omit them.
  playground boolean not null default false,
  -- User who made the key. Null: an operator's command line.
  created_by text collate "C",
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  -- In the future while the key is `revoking`.
  revoked_at timestamptz,
  revocation_decided_at timestamptz
);
-- Playground keys are apart, because lists omit them and there are more of them every day.
create index keys_by_organization on keys (organization_id, playground, created_at, id);
-- Read before a member's playground gets another key.
create index playground_keys_by_maker on keys (organization_id, created_by, expires_at) where playground;
-- Alerts look at these three every few seconds (database/alerts/crossings.ts).
create index keys_with_budget on keys (organization_id)
  where daily_budget_nano_usd is not null and revoked_at is null and not playground;
create index keys_with_long_budget on keys (organization_id)
  where (monthly_budget_nano_usd is not null or lifetime_budget_nano_usd is not null) and revoked_at is null and not playground;
create index keys_that_expire on keys (organization_id, expires_at)
  where expires_at is not null and revoked_at is null and not playground;

-- Date and address of each key's last use, refused or not.
create table key_activity (
  key_id text collate "C" primary key,
  last_used_at timestamptz not null,
  last_address text not null
) with (fillfactor = 50);

-- The ledger. Tables that charges write have no foreign keys, and checks only of amounts:
-- charge_generations() checks each batch once, which is much cheaper than checks of each row.

-- Append-only.
create table ledger_entries (
  organization_id text collate "C" not null,
  sequence bigint not null,
  kind text not null,
  amount_nano_usd bigint not null,
  -- The balance after this entry.
  balance_nano_usd bigint not null,
  generation_id text collate "C",
  note text,
  reference text collate "C",
  actor text,
  created_at timestamptz not null default now(),
  primary key (organization_id, sequence),
  -- Only an operator's correction takes a balance below zero.
  constraint ledger_entries_check check (
    sequence > 0 and case kind
      when 'charge' then amount_nano_usd <= 0 and generation_id is not null and note is null and reference is null
        and (balance_nano_usd >= 0 or amount_nano_usd = 0)
      when 'credit' then amount_nano_usd <> 0 and generation_id is null and actor is not null
      else false
    end
  )
);
create unique index ledger_entries_one_charge on ledger_entries (generation_id) where generation_id is not null;
create unique index ledger_entries_one_reference on ledger_entries (organization_id, reference) where reference is not null;
-- Credits are few among millions of charges. The dashboard lists them.
create index ledger_entries_credits on ledger_entries (organization_id, sequence) where kind = 'credit';

-- A reference is booked once over all organizations, so that one payment cannot be credited to two.
create table credit_references (
  reference text collate "C" primary key,
  organization_id text collate "C" not null
);

-- Charged requests. Ids sort by time, so a partition is a range of ids and a lookup by id touches
-- one partition. Months are made ahead (partitions.ts). The default partition has the rows of
-- months that were not made.
create table generations (
  id text collate "C" primary key,
  organization_id text collate "C" not null,
  key_id text collate "C" not null,
  -- The day that the admission assigned.
  day date not null,
  model text not null,
  provider text not null,
  -- The provider's name for the model.
  provider_model text not null,
  upstream_id text,
  created_at timestamptz not null,
  streamed boolean not null,
  cancelled boolean not null,
  finish_reason text,
  -- Cached tokens and cache writes are part of prompt_tokens, one-hour writes part of cache writes,
  -- reasoning tokens part of completion_tokens.
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  reasoning_tokens bigint not null,
  cache_write_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  -- False: the provider reported the tokens.
  usage_counted boolean not null,
  -- Prices of the entry that applied.
  input_pico_usd bigint not null,
  cached_input_pico_usd bigint not null,
  output_pico_usd bigint not null,
  cache_write_pico_usd bigint not null,
  cache_write_1h_pico_usd bigint not null,
  -- The tier that the provider named. Null: it named none.
  service_tier text,
  -- The entry: its tier (null: the default one), and the number of input tokens above which it
  -- applies (null: it has no such bound).
  priced_tier text,
  priced_above_tokens bigint,
  cost_nano_usd bigint not null,
  -- Upper bound of the charge.
  hold_nano_usd bigint not null,
  first_event_ms bigint not null,
  generation_time_ms bigint not null,
  -- The API that the client spoke.
  api text not null default 'chat'
) partition by range (id);
create table generations_other partition of generations default;

-- Generations whose request named a user. A separate table, so that other charges write no more.
create table generation_users (
  generation_id text collate "C" primary key,
  end_user text collate "C" not null
);

-- Cost of each generation at its provider, by the costs that the target had when it was called, and
-- its list price. A separate table, so that charges that have neither write no more.
create table generation_costs (
  generation_id text collate "C" primary key,
  -- Null: the target had no costs.
  cost_nano_usd bigint check (cost_nano_usd >= 0),
  -- Null: the organization paid the model's own prices, and the list price is the charge.
  list_nano_usd bigint check (list_nano_usd >= 0)
);

create table daily_usage (
  organization_id text collate "C" not null,
  day date not null,
  key_id text collate "C" not null,
  model text not null,
  requests bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  reasoning_tokens bigint not null,
  cache_write_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  cost_nano_usd bigint not null,
  primary key (organization_id, day, key_id, model)
) with (fillfactor = 70);

-- The part of daily_usage of each user. The key has a hash, because a name of 512 characters is too
-- long for an index.
create table user_usage (
  like daily_usage,
  user_hash bytea not null check (octet_length(user_hash) = 32),
  end_user text collate "C" not null,
  check (requests > 0),
  primary key (organization_id, day, key_id, model, user_hash)
) with (fillfactor = 70);
-- Finds the first day that the explorer can read, for one organization or all. It is small, because
-- PostgreSQL stores equal entries once, and its order is that of the table.
create index user_usage_by_day on user_usage (day, organization_id);

-- Sums of daily_usage, for the lookup of a caller that is not cached: one row instead of one for
-- each key and model.
create table organization_daily_spend (
  organization_id text collate "C" not null,
  day date not null,
  spent_nano_usd bigint not null,
  primary key (organization_id, day)
) with (fillfactor = 50);
create table key_daily_spend (
  key_id text collate "C" not null,
  day date not null,
  spent_nano_usd bigint not null,
  primary key (key_id, day)
) with (fillfactor = 50);

-- Losses of the operator: the part of a charge that exceeds its hold (`over_hold`) or what the
-- balance had left (`balance`), and work of a provider that is charged to nobody.
create table losses (
  generation_id text collate "C" not null,
  organization_id text collate "C" not null,
  reason text not null check (length(reason) between 1 and 100),
  amount_nano_usd bigint not null check (amount_nano_usd between 0 and 1000000000000000000),
  model text not null,
  provider text not null,
  created_at timestamptz not null default now(),
  primary key (generation_id, reason)
);
create index losses_by_time on losses (created_at, generation_id);

-- Charges that the ledger refused. Nothing was charged; an operator corrects by hand (`ledger
-- dead-letters`). Until then delivered ones are owed, and not available to other requests.
create table dead_letters (
  generation_id text collate "C" primary key,
  organization_id text collate "C" not null,
  reason text not null,
  -- The settlement as JSON, without the stored response.
  settlement text not null,
  -- Amount that would be charged, at most the hold.
  due_nano_usd bigint not null default 0 check (due_nano_usd between 0 and 1000000000000000000),
  -- True if the response may have reached the client.
  delivered boolean not null,
  created_at timestamptz not null default now(),
  -- Null: nobody has decided yet.
  resolution text check (resolution in ('charged', 'forgiven')),
  resolved_at timestamptz,
  check ((resolution is null) = (resolved_at is null))
);

-- A signed hash of each organization's ledger up to an entry. It shows changed and lost entries,
-- and verified entries need not be read again. Append-only.
create table ledger_checkpoints (
  organization_id text collate "C" not null,
  sequence bigint not null check (sequence > 0),
  balance_nano_usd bigint not null,
  total_credits_nano_usd bigint not null,
  -- 0: the organization's first.
  previous_sequence bigint not null check (previous_sequence between 0 and sequence - 1),
  -- Hash of the hash before (32 zero bytes) and the SHA-256 of the entries since.
  hash bytea not null check (octet_length(hash) = 32),
  created_at timestamptz not null,
  -- Ed25519.
  public_key bytea not null check (octet_length(public_key) = 32),
  signature bytea not null check (octet_length(signature) = 64),
  primary key (organization_id, sequence)
);
create index ledger_checkpoints_by_time on ledger_checkpoints (created_at);

-- One finished request, for charge_generations().
create type charge as (
  id text collate "C",
  organization_id text collate "C",
  key_id text collate "C",
  day date,
  model text,
  provider text,
  upstream_id text,
  created_ms bigint,
  streamed boolean,
  cancelled boolean,
  finish_reason text,
  prompt_tokens bigint,
  completion_tokens bigint,
  cached_tokens bigint,
  cache_write_tokens bigint,
  cache_write_1h_tokens bigint,
  reasoning_tokens bigint,
  usage_counted boolean,
  input_pico_usd bigint,
  cached_input_pico_usd bigint,
  cache_write_pico_usd bigint,
  cache_write_1h_pico_usd bigint,
  output_pico_usd bigint,
  cost_nano_usd bigint,
  first_event_ms bigint,
  generation_time_ms bigint,
  hold_nano_usd bigint,
  provider_model text,
  service_tier text,
  priced_tier text,
  priced_above_tokens bigint,
  -- Null: chat.
  api text
);

-- Idempotency-Keys.

-- One row for each key that a request has claimed, or that has a stored response. Neither the key
-- nor the request can be read here: the key is hashed, the body is a keyed hash, the response is
-- encrypted under both (sealed-response.ts).
create table idempotency_keys (
  organization_id text collate "C" not null,
  key_hash bytea not null check (octet_length(key_hash) = 32),
  body_hash bytea not null check (octet_length(body_hash) = 32),
  -- The request that has the claim. It is the fencing token: each request has its own id.
  generation_id text collate "C" not null,
  -- The claim expires at this time.
  lease_until timestamptz not null,
  -- When another process charged this request while its response waits in a charge log. Until the
  -- response is stored, or the retention ends, the key stays claimed, so that no second response is
  -- produced.
  charged_at timestamptz,
  finished_at timestamptz,
  response bytea,
  -- Size of the response, as stored_responses sums it. 0: evicted, or larger than the bound. Null:
  -- there is none.
  response_bytes bigint,
  primary key (organization_id, key_hash),
  constraint idempotency_keys_response_check check (finished_at is not null or response is null)
);
-- Encrypted bytes do not compress, and are read and written whole.
alter table idempotency_keys alter column response set storage external;
create index idempotency_keys_by_age on idempotency_keys (coalesce(finished_at, lease_until));
-- The oldest responses of an organization, which are evicted first.
create index idempotency_keys_stored on idempotency_keys (organization_id, finished_at) where response_bytes > 0;

-- Sum of response_bytes of each organization, without the changes below. Lock order: rows of
-- idempotency_keys and accounts first, then these, by organization. Who holds one waits only for
-- the next of these. Updated in place.
create table stored_responses (
  organization_id text collate "C" primary key,
  bytes bigint not null,
  -- Responses older than this are evicted, except a few: eviction starts here instead of at dead
  -- index entries. Null: unknown.
  oldest_at timestamptz
) with (fillfactor = 50);

-- Bytes of responses that were deleted, or whose key another request claimed, after the retention.
-- Separate rows, because a deletion does not wait for the lock that charges hold on the sum.
create table stored_response_changes (
  organization_id text collate "C" not null,
  bytes bigint not null
);

-- The request log: for people, not for money. Written in batches beside the requests and lossy by
-- design; no charge depends on it. It has neither foreign keys nor checks: only log_requests()
-- writes it, and a check of an id's form costs as much as two indexes (4 us of the 22 us that a row
-- costs PostgreSQL in batches of 200, measured).

-- Ids sort by time, so a partition is a day, a range of time is a range of ids, and a page is one
-- walk down an index. Days are made ahead, and dropped after `request_log.retention`, by
-- request-log-partitions.ts.
create table request_log (
  id text collate "C" not null,
  organization_id text collate "C" not null,
  key_id text collate "C" not null,
  request_id text collate "C" not null,
  generation_id text collate "C",
  route text not null,
  -- As the client sent it if it is no model of the configuration. Null: the request was refused
  -- before the model was read.
  model text collate "C",
  -- A model of the configuration.
  model_known boolean not null,
  provider text,
  address text not null,
  user_agent text,
  -- `user` and `metadata` (an object of texts) of the request, as the client sent them.
  end_user text collate "C",
  metadata jsonb,
  status smallint not null,
  -- Error code. Null: no error, or the client left before there was a response (status 499).
  code text collate "C",
  streamed boolean not null,
  replayed boolean not null,
  client_gone boolean not null,
  prompt_tokens bigint,
  completion_tokens bigint,
  cached_tokens bigint,
  reasoning_tokens bigint,
  cost_nano_usd bigint,
  -- Cost at the provider, for operators. Null: nothing was charged, or the target had no costs.
  provider_cost_nano_usd bigint,
  first_event_ms integer,
  duration_ms integer not null,
  primary key (organization_id, id)
) partition by range (id);
create table request_log_other partition of request_log default;
create index request_log_by_key on request_log (key_id, id);
create index request_log_by_model on request_log (organization_id, model, id);
-- For operators, over all organizations. Rows arrive about in the order of their ids, so a small
-- BRIN index serves.
create index request_log_by_time on request_log using brin (id) with (pages_per_range = 16, autosummarize = on);
-- Failures are few: these two are small.
create index request_log_failures on request_log (organization_id, id) where code is not null;
create index request_log_by_code on request_log (organization_id, code, id) where code is not null;
-- Request ids are random: a hash of them costs half as much to keep as a tree.
create index request_log_by_request on request_log using hash (request_id);
create index request_log_by_generation on request_log (generation_id) where generation_id is not null;

-- One request of a key that exists, for log_requests().
create type logged_request as (
  id text collate "C",
  arrived_ms bigint,
  organization_id text collate "C",
  key_id text collate "C",
  request_id text collate "C",
  generation_id text collate "C",
  route text,
  model text collate "C",
  model_known boolean,
  provider text,
  address text,
  user_agent text,
  status smallint,
  code text collate "C",
  streamed boolean,
  replayed boolean,
  client_gone boolean,
  prompt_tokens bigint,
  completion_tokens bigint,
  cached_tokens bigint,
  reasoning_tokens bigint,
  cost_nano_usd bigint,
  provider_cost_nano_usd bigint,
  first_event_ms integer,
  duration_ms integer,
  end_user text,
  metadata text
);

-- Refused requests without a row in the request log, because their key or organization had too many
-- in that minute: counts of equal ones, by process. request_stats includes them.
create table omitted_requests (
  organization_id text collate "C" not null,
  -- Minutes since 1970.
  minute bigint not null,
  key_id text collate "C" not null,
  -- Empty: no model of the configuration.
  model text collate "C" not null,
  -- Empty: the client left before there was a response.
  code text collate "C" not null,
  status smallint not null,
  -- The process that counted.
  writer text collate "C" not null,
  requests bigint not null,
  primary key (organization_id, minute, key_id, model, code, status, writer)
) with (fillfactor = 70);
create index omitted_requests_by_minute on omitted_requests (minute);

-- One count, for count_omitted().
create type omitted_count as (
  organization_id text collate "C",
  minute bigint,
  key_id text collate "C",
  model text collate "C",
  code text collate "C",
  status smallint,
  requests bigint,
  last_ms bigint,
  address text
);

-- Sums of the request log by hour, for charts and rates. Written in the same transaction as the
-- rows, and kept when these are dropped.
create table request_stats (
  organization_id text collate "C" not null,
  hour timestamptz not null,
  key_id text collate "C" not null,
  -- Empty: no model of the configuration, so that clients cannot invent groups.
  model text collate "C" not null,
  -- Empty: no error.
  code text collate "C" not null,
  -- Empty: no provider was called.
  provider text collate "C" not null,
  status smallint not null,
  streamed boolean not null,
  requests bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  cost_nano_usd bigint not null,
  -- Sums over the requests whose provider's cost is known: that cost, and cost_nano_usd.
  provider_cost_nano_usd bigint not null,
  known_revenue_nano_usd bigint not null,
  -- Completions by time to the first event: up to 50, 100, 200, 400, 800, 1600, 3200, 6400, 12800,
  -- 25600 ms, and above.
  first_event_buckets bigint[] not null check (cardinality(first_event_buckets) = 11),
  primary key (organization_id, hour, key_id, model, code, provider, status, streamed)
) with (fillfactor = 70);
create index request_stats_by_hour on request_stats using brin (hour) with (pages_per_range = 16, autosummarize = on);

-- Sums of request_stats by UTC day, a twentieth of the rows for a month in the dashboard. A day is
-- summed once, some hours after its end. `hour` is its first one.
create table request_day_stats (like request_stats including constraints including indexes);

-- Readers take days before this one from request_day_stats, and hours since then from
-- request_stats.
create table request_days (
  single boolean primary key default true check (single),
  -- Exclusive.
  summed_until date not null default date '1970-01-01'
);
insert into request_days default values;

-- Uncharged attempts, so that a provider's bill can be explained to the token. Written in batches
-- beside the requests and kept for as long as the request log. A charged attempt has no row here:
-- it is a generation.
create table provider_attempts (
  generation_id text collate "C" not null,
  -- Number of the attempt, from 1. 0: the charge log does not know it.
  attempt smallint not null,
  organization_id text collate "C" not null,
  key_id text collate "C" not null,
  model text collate "C" not null,
  provider text collate "C" not null,
  -- The provider's name for the model.
  provider_model text collate "C" not null,
  upstream_id text,
  asked_at timestamptz not null,
  -- `ok`, or why it failed.
  result text not null,
  -- Why nobody was charged.
  reason text not null,
  -- reported (by the provider), counted (by the tokenizer), estimated (from the length of the
  -- text). Null: unknown, or nothing was sent.
  token_source text,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  reasoning_tokens bigint not null,
  primary key (generation_id, attempt)
) partition by range (generation_id);
create table provider_attempts_other partition of provider_attempts default;

-- Costs of uncharged attempts that used tokens. A separate table, so that reports of costs do not
-- change when partitions of provider_attempts are dropped.
create table uncharged_costs (
  generation_id text collate "C" not null,
  -- As in provider_attempts.
  attempt smallint not null,
  organization_id text collate "C" not null,
  model text collate "C" not null,
  provider text collate "C" not null,
  reason text not null,
  -- Null: the target had no costs.
  cost_nano_usd bigint check (cost_nano_usd >= 0),
  primary key (generation_id, attempt)
);

-- Sums of charges and uncharged_costs by the UTC day on which the request arrived, so that reports
-- of costs need not read each row, and keep the costs of generations that were archived.
create table cost_days (
  day date not null,
  organization_id text collate "C" not null,
  model text collate "C" not null,
  provider text collate "C" not null,
  requests bigint not null,
  revenue_nano_usd numeric not null,
  list_nano_usd numeric not null,
  cost_nano_usd numeric not null,
  known_revenue_nano_usd numeric not null,
  -- True if the cost of some part is unknown.
  unknown boolean not null,
  -- True if late rows were added after the generations of the day had been archived.
  archived boolean not null,
  primary key (day, organization_id, model, provider)
);
create table cost_progress (
  single boolean primary key default true check (single),
  -- Exclusive. Reports read later days from the rows.
  summed_until date not null default date '1970-01-01'
);
insert into cost_progress default values;
-- Rows that were added five hours after their request or later: the day may have been summed up
-- before, and is summed up again. Each has its mark once, in the transaction that adds it.
create table late_costs (
  generation_id text collate "C" not null,
  -- The row of uncharged_costs. Null: that of generations.
  attempt smallint
);

-- One attempt, for record_provider_attempts().
create type provider_attempt as (
  generation_id text collate "C",
  attempt smallint,
  organization_id text collate "C",
  key_id text collate "C",
  model text,
  provider text,
  provider_model text,
  upstream_id text,
  asked_ms bigint,
  result text,
  reason text,
  token_source text,
  prompt_tokens bigint,
  completion_tokens bigint,
  cached_tokens bigint,
  reasoning_tokens bigint,
  loss_reason text,
  loss_nano_usd bigint,
  cost_nano_usd bigint
);

-- All calls of providers, for the comparison with their bills. `reason` is null for charged ones.
-- An attempt that was recorded as lost and charged later appears once, as charged.
create view provider_calls as
  select g.id as generation_id, null::smallint as attempt, g.organization_id, g.key_id, g.model, g.provider,
    g.provider_model, g.upstream_id, g.created_at as asked_at, 'ok' as result, null as reason,
    case when g.usage_counted then 'counted' else 'reported' end as token_source,
    g.prompt_tokens, g.completion_tokens, g.cached_tokens, g.reasoning_tokens
  from generations g
  union all
  select a.generation_id, a.attempt, a.organization_id, a.key_id, a.model, a.provider, a.provider_model, a.upstream_id, a.asked_at,
    a.result, a.reason, a.token_source, a.prompt_tokens, a.completion_tokens, a.cached_tokens, a.reasoning_tokens
  from provider_attempts a
  where a.reason not in ('not_charged', 'crash') or not exists (select from generations g where g.id = a.generation_id);

-- Process reports, one row for each gateway process, written every two seconds. Unlogged, because
-- after a crash of PostgreSQL the processes report again: the WAL is not needed.
create unlogged table gateway_processes (
  -- New at every start of a process.
  id uuid primary key,
  host text not null,
  worker integer not null,
  pid integer not null,
  started_at timestamptz not null,
  reported_at timestamptz not null,
  -- database/process-reports/report.ts says what is in it.
  report jsonb not null,
  -- The model mapping as loaded, and its problems; written when it changes.
  configuration jsonb not null,
  configuration_loaded_at timestamptz not null
) with (fillfactor = 50);

-- Users: who may sign in to the dashboard. API keys belong to organizations, not to users.

create table users (
  id text collate "C" primary key check (id ~ '^usr-[0-9A-HJKMNP-TV-Z]{26}$'),
  -- Lower case, so that one mailbox is one user.
  email text collate "C" not null unique check (length(email) between 3 and 254 and email = lower(email)),
  -- argon2id as a PHC string. Null: none was set yet.
  password_hash text,
  -- The password was made by a command line, and its user has not replaced it yet.
  password_handed_out boolean not null default false,
  is_operator boolean not null default false,
  -- An operator only while the issuer's claim says so.
  operator_by_claim boolean not null default false,
  -- The organization whose owner's invitation made the user. Null: an operator made it.
  came_through text collate "C",
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  last_signed_in_at timestamptz
);
create index users_operators on users (id) where is_operator;

create table memberships (
  user_id text collate "C" not null references users on delete cascade,
  organization_id text collate "C" not null references organizations,
  role text not null check (role in ('owner', 'member')),
  created_at timestamptz not null default now(),
  primary key (user_id, organization_id)
);
create index memberships_by_organization on memberships (organization_id, user_id);

-- Pairs of organization and address, with no claim on the address: a user begins when an invitation
-- is accepted.
create table invitations (
  -- Id of the user, if accepting the invitation makes one.
  id text collate "C" primary key check (id ~ '^usr-[0-9A-HJKMNP-TV-Z]{26}$'),
  organization_id text collate "C" not null references organizations,
  email text collate "C" not null check (length(email) between 3 and 254 and email = lower(email)),
  role text not null check (role in ('owner', 'member')),
  -- Made by an operator, who alone makes new links for it.
  by_operator boolean not null default false,
  -- SHA-256 of the newest link's token. Null: none was made.
  token_hash bytea unique check (octet_length(token_hash) = 32),
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  unique (organization_id, email)
);
create index invitations_by_email on invitations (email);

-- Only the SHA-256 of a session's token is stored: a reader of this table cannot use it.
create table sessions (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  id text collate "C" not null unique check (id ~ '^ses-[0-9A-HJKMNP-TV-Z]{26}$'),
  user_id text collate "C" not null references users on delete cascade,
  began_by text not null default 'password' check (began_by in ('password', 'issuer', 'link')),
  issuer text,
  -- The issuer recognizes its session by it when the user signs out.
  id_token text check (length(id_token) <= 16384),
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  -- When the password was last given. Some changes need a recent one.
  password_at timestamptz not null default now(),
  expires_at timestamptz not null,
  address text not null,
  user_agent text
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_expiry on sessions (expires_at);

-- Links that set a password or sign a user in, once.
create table password_links (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id text collate "C" not null references users on delete cascade,
  -- forgotten: mailed to whoever asks for it. sign_in: made on the command line; signs in without a
  -- password.
  purpose text not null check (purpose in ('invitation', 'reset', 'forgotten', 'sign_in')),
  expires_at timestamptz not null,
  created_at timestamptz not null default now()
);
create index password_links_by_user on password_links (user_id);

-- One user of an OpenID Connect issuer is one user here, even if the address at the issuer changes.
create table user_identities (
  issuer text collate "C" not null check (length(issuer) <= 2048),
  subject text collate "C" not null check (length(subject) between 1 and 255),
  user_id text collate "C" not null references users on delete cascade,
  created_at timestamptz not null default now(),
  primary key (issuer, subject),
  unique (user_id, issuer)
);

-- The `state` values of finished sign-ins at an issuer. Each signs in once.
create table used_sign_in_states (
  state_hash bytea primary key check (octet_length(state_hash) = 32),
  expires_at timestamptz not null
);
create index used_sign_in_states_by_expiry on used_sign_in_states (expires_at);

-- Browsers in which a user has signed in. Wrong passwords from elsewhere do not block these.
create table known_browsers (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id text collate "C" not null references users on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index known_browsers_by_user on known_browsers (user_id);
create index known_browsers_by_expiry on known_browsers (expires_at);

-- Attempts to sign in, counted by address and by account in windows. A crash may lose them.
create unlogged table sign_in_attempts (
  subject text collate "C" not null,
  window_start timestamptz not null,
  attempts integer not null,
  primary key (subject, window_start)
);
create index sign_in_attempts_by_window on sign_in_attempts (window_start);

-- Changes requested in the dashboard, counted by user and by organization in windows of a minute
-- and of a day, over all its processes. A crash may lose them.
create unlogged table change_counts (
  subject text collate "C" not null,
  window_seconds integer not null,
  window_start timestamptz not null,
  changes integer not null,
  primary key (subject, window_seconds, window_start)
);
create index change_counts_by_window on change_counts (window_start);

-- Addresses that send X-Forwarded-For to the dashboard and are not in trusted_proxies, for
-- `doctor`. A crash may lose them.
create unlogged table untrusted_proxies (
  address text collate "C" primary key,
  seen_at timestamptz not null
);

-- Audit events: who changed what, when and from where. A row is committed with the change that it
-- describes. Append-only. Months are made ahead by partitions.ts, and an operator can archive
-- and detach them (docs/operating.md). The default partition has the rows of months that were not
-- made.
create table audit_log (
  id text collate "C" primary key check (id ~ '^evt-[0-9A-HJKMNP-TV-Z]{26}$'),
  created_at timestamptz not null default now(),
  -- Null: not about one organization.
  organization_id text collate "C",
  -- Null: an operator's command line or the service itself.
  actor_user_id text collate "C",
  -- For people to read: an e-mail address, or user@host of a command line.
  actor text not null check (length(actor) between 1 and 300),
  address text,
  action text collate "C" not null check (action ~ '^[a-z_]+\.[a-z_]+$'),
  -- Id and name, at that time, of what was changed.
  subject_id text collate "C",
  subject_name text,
  -- {field: [before, after]}, without secrets.
  changes jsonb not null default '{}'
) partition by range (id);
create table audit_log_other partition of audit_log default;
create index audit_log_by_organization on audit_log (organization_id, id);

-- Views: named filters of the explorer, which all members of the organization see.
create table saved_views (
  id text collate "C" primary key check (id ~ '^viw-[0-9A-HJKMNP-TV-Z]{26}$'),
  -- Null: a view of operators over all organizations.
  organization_id text collate "C" references organizations,
  name text not null check (length(name) between 1 and 200),
  page text not null check (page in ('overview', 'requests')),
  search text not null check (length(search) <= 4000),
  created_by text collate "C" not null,
  created_at timestamptz not null default now()
);
create unique index saved_views_by_name on saved_views (coalesce(organization_id, ''), name);

-- Alerts, and the outbox: messages that the dashboard sends by mail and webhook.

create table alert_settings (
  organization_id text collate "C" primary key references organizations,
  -- Null: no alert about the balance.
  balance_below_nano_usd bigint check (balance_below_nano_usd between 1 and 1000000000000000000),
  key_budgets boolean not null,
  key_expiry boolean not null,
  top_ups boolean not null,
  emails text[] not null check (cardinality(emails) <= 5),
  webhook_url text check (length(webhook_url) between 1 and 2000),
  -- Signs messages to webhook_url (Standard Webhooks).
  webhook_secret text check (length(webhook_secret) between 1 and 200),
  -- Format of the messages: a channel of the outbox.
  webhook_kind text check (webhook_kind in ('webhook', 'slack')),
  check ((webhook_url is null) = (webhook_secret is null) and (webhook_url is null) = (webhook_kind is null))
);

-- Conditions that were reported and have not ended. Each is reported again only after it has ended.
create table alert_states (
  -- Empty: an alert of the operators.
  organization_id text collate "C" not null,
  kind text not null check (length(kind) between 1 and 50),
  -- The key or provider concerned. Empty: an organization has at most one condition of this kind.
  subject text collate "C" not null check (length(subject) <= 300),
  since timestamptz not null default now(),
  primary key (organization_id, kind, subject)
);

create table outbox (
  id bigint generated always as identity primary key,
  -- The same in each attempt, so that a receiver recognizes repetitions.
  message_id text not null unique default 'msg_' || replace(gen_random_uuid()::text, '-', ''),
  -- Null: not about one organization.
  organization_id text collate "C" references organizations,
  channel text not null check (channel in ('mail', 'webhook', 'slack')),
  -- Mail address, or the organization of the webhook. Messages of an organization to one receiver
  -- are sent one after another.
  receiver text not null check (length(receiver) between 1 and 320),
  kind text not null check (length(kind) between 1 and 50),
  -- Values for the text, without secrets: the token of a link is made when the link is sent.
  content jsonb not null,
  created_at timestamptz not null default now(),
  next_attempt_at timestamptz not null default now(),
  attempts integer not null default 0,
  -- Lease of the dashboard that sends the message now. Another dashboard may send it after
  -- leased_until.
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
  -- Null: the attempt is in progress, or its dashboard process ended.
  took_ms integer,
  result text check (length(result) <= 300),
  primary key (outbox_id, attempt)
);

-- Payments by Stripe. Rows are copies of Stripe's state as last read. Each difference makes an
-- entry of the ledger.

create table top_ups (
  id text collate "C" primary key check (id ~ '^top-[0-9A-HJKMNP-TV-Z]{26}$'),
  organization_id text collate "C" not null references organizations,
  automatic boolean not null,
  amount_cents bigint not null check (amount_cents between 1 and 99999900),
  -- refused: Stripe's payment differs from ours, and an operator must decide.
  state text not null default 'open' check (state in ('open', 'paid', 'failed', 'expired', 'refused')),
  -- For people to read: why it failed, was refused, or is open for days.
  failure text check (length(failure) between 1 and 500),
  session_id text collate "C" unique check (length(session_id) <= 200),
  payment_intent_id text collate "C" unique check (length(payment_intent_id) <= 190),
  -- The last payment that did not match.
  refused_payment_id text collate "C" check (length(refused_payment_id) <= 190),
  receipt_url text check (length(receipt_url) <= 2000),
  -- Reads of Stripe are numbered as they begin. A read that began before the newest applied one is
  -- dropped.
  reads_begun bigint not null default 0,
  reads_applied bigint not null default 0,
  -- Id of the user. Null: automatic.
  created_by text check (length(created_by) <= 300),
  created_at timestamptz not null default now(),
  -- When a process last asked Stripe to charge the saved card.
  asked_at timestamptz,
  -- When the dashboard last read an open top-up from Stripe by itself: events may never arrive.
  looked_at timestamptz,
  -- When it was found that Stripe had sent no event about its payment, a refund or a dispute.
  event_missed_at timestamptz
);
create index top_ups_by_organization on top_ups (organization_id, id);
create index top_ups_without_event on top_ups (event_missed_at) where event_missed_at is not null;
create index top_ups_open on top_ups (created_at) where state = 'open';
-- One automatic top-up at a time, over all processes.
create unique index top_ups_one_automatic on top_ups (organization_id) where automatic and state = 'open';

-- Refunds and disputes.
create table top_up_reversals (
  id text collate "C" primary key check (length(id) <= 180),
  top_up_id text collate "C" not null references top_ups,
  -- Amount that is booked now. 0: the money came back.
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
  -- Former cards that Stripe has not detached yet.
  unused_cards text[] not null default '{}',
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
