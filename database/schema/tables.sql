-- The tables of a new database. They never change once released: database/migrations/README.md.
--
-- Identifiers compare by bytes (collate "C"): they are ASCII, and it is the cheaper comparison.
-- Amounts are nano-dollars, prices are pico-dollars per token.

-- Ledger state, in one row.

create table ledger_state (
  single boolean primary key default true check (single),
  -- Changes when the database may have gone back in time (restore, failover): limit stores then
  -- forget all they know of accounts.
  epoch uuid not null default gen_random_uuid(),
  -- The server's system identifier, its timeline, the oids of the database and of the table
  -- accounts. Null: it could not be read yet. See note_timeline().
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
  -- Key of the hashes that providers are sent instead of `user`, `safety_identifier` and
  -- `prompt_cache_key`: one for the deployment, so that every process sends the same ones, also
  -- after a restart and a restore.
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
create index organizations_by_creation on organizations (created_at, id);

-- One row for each organization: its lock orders everything that happens to the organization's
-- money, and its sequence numbers the ledger. Every charge updates it, so room is left on the page
-- for updates that touch no index.
create table accounts (
  organization_id text collate "C" primary key references organizations,
  sequence bigint not null default 0,
  balance_nano_usd bigint not null default 0,
  total_credits_nano_usd bigint not null default 0,
  total_usage_nano_usd bigint not null default 0,
  -- What undecided dead letters owe, and how often that changed: hold_dead_letter(). Snapshots of
  -- the account have the balance less the first and the sequence plus the second.
  dead_letters_nano_usd bigint not null default 0,
  dead_letter_changes bigint not null default 0,
  -- One check, because PostgreSQL reads the text of each of them again for each statement.
  constraint accounts_check check (
    balance_nano_usd = total_credits_nano_usd - total_usage_nano_usd and total_usage_nano_usd >= 0 and sequence >= 0
  )
) with (fillfactor = 50);

-- Changes of the long budgets take the account's lock: lock_account_for_budget().
create table keys (
  id text collate "C" primary key check (id ~ '^key-[0-9A-HJKMNP-TV-Z]{26}$'),
  organization_id text collate "C" not null references organizations,
  name text not null check (length(name) between 1 and 200),
  -- For people. The gateway process does not read it.
  note text check (length(note) between 1 and 500),
  -- SHA-256 of the whole key. The key itself is nowhere.
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
  -- Made by the dashboard for its playground: such keys live for minutes, and lists leave them out.
  playground boolean not null default false,
  -- User who made the key. Null: an operator's command line.
  created_by text collate "C",
  created_at timestamptz not null default now(),
  expires_at timestamptz,
  -- A time in the future is a plan (key-lookup.ts).
  revoked_at timestamptz,
  revocation_decided_at timestamptz
);
create index keys_by_organization on keys (organization_id, created_at, id);
-- Looked up before a member's playground gets another key.
create index playground_keys_by_maker on keys (organization_id, created_by, expires_at) where playground;
-- Alerts look at these three every few seconds (database/alerts/crossings.ts).
create index keys_with_budget on keys (organization_id) where daily_budget_nano_usd is not null and revoked_at is null;
create index keys_with_long_budget on keys (organization_id)
  where (monthly_budget_nano_usd is not null or lifetime_budget_nano_usd is not null) and revoked_at is null;
create index keys_that_expire on keys (organization_id, expires_at) where expires_at is not null and revoked_at is null;

-- Date and address of each key's last use, refused or not.
create table key_activity (
  key_id text collate "C" primary key,
  last_used_at timestamptz not null,
  last_address text not null
) with (fillfactor = 50);

-- The ledger. Rows that a charge writes have neither foreign keys nor, but for the money itself,
-- checks: charge_generations() alone writes them, and checks each batch once, for a fraction of
-- what checks of each row cost.

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
-- The few entries that operators make, among millions of charges: the dashboard lists them.
create index ledger_entries_credits on ledger_entries (organization_id, sequence) where kind = 'credit';

-- A reference is booked once, for whatever organization: one payment cannot be given to two.
create table credit_references (
  reference text collate "C" primary key,
  organization_id text collate "C" not null
);

-- Charged requests. Ids sort by time, so a partition is a range of ids and a lookup by id touches
-- one partition. Months are made ahead (month-partitions.ts); a row without a month is stored and
-- found in the default partition.
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
  -- Cached and written tokens are part of the prompt's, those written for an hour part of the
  -- written, reasoning part of the completion's.
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  reasoning_tokens bigint not null,
  cache_write_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  -- False: as the provider reported them.
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
  latency_ms bigint not null,
  generation_time_ms bigint not null,
  -- The API that the client spoke.
  api text not null default 'chat'
) partition by range (id);
create table generations_other partition of generations default;

-- Generations whose request named a user. A table of its own, so that other charges cost nothing
-- more.
create table generation_users (
  generation_id text collate "C" primary key,
  end_user text collate "C" not null
);

-- Cost of each generation at its provider, by the costs that the target had when it was asked, and
-- its list price. A table of its own, so that charges that have neither take nothing more.
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
  organization_id text collate "C" not null,
  day date not null,
  key_id text collate "C" not null,
  model text not null,
  user_hash bytea not null check (octet_length(user_hash) = 32),
  end_user text collate "C" not null,
  requests bigint not null check (requests > 0),
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  reasoning_tokens bigint not null,
  cache_write_tokens bigint not null,
  cache_write_1h_tokens bigint not null,
  cost_nano_usd bigint not null,
  primary key (organization_id, day, key_id, model, user_hash)
) with (fillfactor = 70);
-- How far back the explorer can read, for one organization or all of them. It is small, because
-- equal entries share one, and its order is that of the table.
create index user_usage_by_day on user_usage (day, organization_id);

-- Sums of daily_usage that authentication reads with every request: one row instead of one for each
-- key and model.
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
-- dead-letters`). Until then what was delivered is owed, and not available to other requests.
create table dead_letters (
  generation_id text collate "C" primary key,
  organization_id text collate "C" not null,
  reason text not null,
  -- The settlement as JSON, without any answer.
  settlement text not null,
  -- Amount that would be charged, at most the hold.
  due_nano_usd bigint not null default 0 check (due_nano_usd between 0 and 1000000000000000000),
  -- The client was given the answer, or may have been.
  delivered boolean not null,
  created_at timestamptz not null default now(),
  -- Null: nobody has decided yet.
  resolution text check (resolution in ('charged', 'forgiven')),
  resolved_at timestamptz,
  check ((resolution is null) = (resolved_at is null))
);

-- State of each organization's ledger after an entry, with a hash of the entries that led there,
-- signed: a past that was changed and an end that was lost are seen, and entries that were verified
-- once need not be read again. Append-only.
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
  latency_ms bigint,
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

-- One row for each key that an attempt works on, or whose answer is replayed. Neither the key nor
-- the request can be read here: the key is hashed, the body is a keyed hash, the answer is
-- encrypted under both (sealed-response.ts).
create table idempotency_keys (
  organization_id text collate "C" not null,
  key_hash bytea not null check (octet_length(key_hash) = 32),
  body_hash bytea not null check (octet_length(body_hash) = 32),
  -- The attempt that has the key. It is the fencing token: every attempt has a generation id of its
  -- own.
  generation_id text collate "C" not null,
  -- The attempt's process counts as dead afterwards.
  lease_until timestamptz not null,
  -- Time of the charge of an attempt whose answer waits in the log of its process, while another
  -- process has charged it: its key stays taken until the answer comes, or for the retention, so
  -- that nobody is given a second answer for it.
  charged_at timestamptz,
  finished_at timestamptz,
  answer bytea,
  -- Size of the answer, as stored_answers sums it. 0: it has given way, or was larger than the
  -- bound. Null: there is none.
  answer_bytes bigint,
  primary key (organization_id, key_hash),
  constraint idempotency_keys_answer_check check (finished_at is not null or answer is null)
);
-- Encrypted bytes do not compress, and are read and written whole.
alter table idempotency_keys alter column answer set storage external;
create index idempotency_keys_by_age on idempotency_keys (coalesce(finished_at, lease_until));
-- The oldest answers of an organization, which give way first.
create index idempotency_keys_stored on idempotency_keys (organization_id, finished_at) where answer_bytes > 0;

-- Sum of answer_bytes of each organization, but for the changes below. It is locked after every row
-- of idempotency_keys and of accounts that a transaction locks, in the order of organizations; its
-- holder waits for nothing but the next of them. Updated in place.
create table stored_answers (
  organization_id text collate "C" primary key,
  bytes bigint not null,
  -- About all that is older has given way: the walk to the oldest need not pass index entries that
  -- nobody has removed yet. Null: not known.
  oldest_at timestamptz
) with (fillfactor = 50);

-- Bytes that were deleted, or taken by another attempt, at the retention. Rows of their own,
-- because that waits for no charge.
create table stored_answer_changes (
  organization_id text collate "C" not null,
  bytes bigint not null
);

-- The request log: for people, not for money. Written in batches beside the requests and lossy by
-- design; no charge depends on it. Rows carry neither foreign keys nor checks: one writer makes
-- them, and a check of an id's form costs as much as two indexes (4 us of the 22 us that a row
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
  -- As sent by the client if it is no model of the configuration. Null: not known yet when the
  -- request was refused.
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
  -- Error code. Null: it went well, or its client left before there was an answer
  -- (status 499).
  code text collate "C",
  streamed boolean not null,
  replayed boolean not null,
  client_gone boolean not null,
  prompt_tokens bigint,
  completion_tokens bigint,
  cached_tokens bigint,
  reasoning_tokens bigint,
  cost_nano_usd bigint,
  -- What the provider is paid, for operators. Null: nothing was charged, or the target had no
  -- costs.
  provider_cost_nano_usd bigint,
  first_event_ms integer,
  duration_ms integer not null,
  primary key (organization_id, id)
) partition by range (id);
create table request_log_other partition of request_log default;
create index request_log_by_key on request_log (key_id, id);
create index request_log_by_model on request_log (organization_id, model, id);
-- For operators, over all organizations: rows arrive about in the order of their ids, and this
-- index costs next to nothing.
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

-- Refused requests without a line in the request log, because their key had enough of them in that
-- minute: a count of those alike, by each process. Sums by hour (request_stats) have them too.
create table left_out_requests (
  organization_id text collate "C" not null,
  -- Minutes since 1970.
  minute bigint not null,
  key_id text collate "C" not null,
  -- Empty: no model of the configuration.
  model text collate "C" not null,
  -- Empty: the client left before there was an answer.
  code text collate "C" not null,
  status smallint not null,
  -- The process that counted.
  writer text collate "C" not null,
  left_out bigint not null,
  primary key (organization_id, minute, key_id, model, code, status, writer)
) with (fillfactor = 70);
create index left_out_requests_by_minute on left_out_requests (minute);

-- One count, for count_left_out().
create type left_out_count as (
  organization_id text collate "C",
  minute bigint,
  key_id text collate "C",
  model text collate "C",
  code text collate "C",
  status smallint,
  left_out bigint,
  last_ms bigint,
  address text
);

-- Sums of the log by hour, for charts and rates: written in the same transaction as the rows, kept
-- when those are dropped.
create table request_stats (
  organization_id text collate "C" not null,
  hour timestamptz not null,
  key_id text collate "C" not null,
  -- Empty: no model of the configuration, so that clients cannot invent groups.
  model text collate "C" not null,
  -- Empty: it went well.
  code text collate "C" not null,
  -- Empty: no provider was asked.
  provider text collate "C" not null,
  status smallint not null,
  streamed boolean not null,
  requests bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  cost_nano_usd bigint not null,
  -- What providers are paid for those whose cost is known, and the part of cost_nano_usd of these.
  provider_cost_nano_usd bigint not null,
  known_revenue_nano_usd bigint not null,
  -- Completions by time to the first event: up to 50, 100, 200, 400, 800, 1600, 3200, 6400, 12800,
  -- 25600 ms, and above.
  first_event_buckets bigint[] not null check (cardinality(first_event_buckets) = 11),
  primary key (organization_id, hour, key_id, model, code, provider, status, streamed)
) with (fillfactor = 70);
create index request_stats_by_hour on request_stats using brin (hour) with (pages_per_range = 16, autosummarize = on);

-- Sums of request_stats by UTC day: a month in the dashboard is a twentieth of the rows. A day is
-- summed up once, some hours after its end.
create table request_day_stats (
  organization_id text collate "C" not null,
  day date not null,
  key_id text collate "C" not null,
  model text collate "C" not null,
  code text collate "C" not null,
  provider text collate "C" not null,
  status smallint not null,
  streamed boolean not null,
  requests bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  cost_nano_usd bigint not null,
  provider_cost_nano_usd bigint not null,
  known_revenue_nano_usd bigint not null,
  first_event_buckets bigint[] not null check (cardinality(first_event_buckets) = 11),
  primary key (organization_id, day, key_id, model, code, provider, status, streamed)
);
create index request_day_stats_by_day on request_day_stats using brin (day) with (pages_per_range = 16, autosummarize = on);

-- Readers take days before this one from request_day_stats, and hours since then from
-- request_stats.
create table request_days (
  single boolean primary key default true check (single),
  -- Exclusive.
  summed_until date not null default date '1970-01-01'
);
insert into request_days default values;

-- Uncharged attempts at providers, so that a provider's bill can be explained to the token. Written
-- in batches beside the requests, as the request log is, and kept for as long. An attempt that was
-- charged is its generation, and has no row here.
create table provider_attempts (
  generation_id text collate "C" not null,
  -- Number of the attempt, from 1; 0: of a charge from the log, which does not know it.
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
  -- text). Null: nothing is known, or nothing was sent.
  token_source text,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  reasoning_tokens bigint not null,
  primary key (generation_id, attempt)
) partition by range (generation_id);
create table provider_attempts_other partition of provider_attempts default;

-- Costs of attempts that used tokens and were not charged. A report of costs must not change when
-- provider_attempts is dropped with the request log.
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

-- All calls of providers, charged or not: a provider's bill is compared with them. `reason` is null
-- for what was charged. An attempt that seemed lost and was charged after all is there once.
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

-- Gateway processes, as each reports itself every two seconds. Not worth a write to the log of
-- changes: after a crash of the server the processes report again.
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

-- People: who may sign in to the dashboard. API keys are no part of it: they belong to
-- organizations.

create table users (
  id text collate "C" primary key check (id ~ '^usr-[0-9A-HJKMNP-TV-Z]{26}$'),
  -- Lower case, so that one mailbox is one user.
  email text collate "C" not null unique check (length(email) between 3 and 254 and email = lower(email)),
  -- argon2id in PHC text. Null: none was set yet.
  password_hash text,
  -- The password was made by a command line, and its user has not replaced it yet.
  password_handed_out boolean not null default false,
  is_operator boolean not null default false,
  -- An operator by a claim of the issuer, and no longer one without it.
  operator_by_claim boolean not null default false,
  -- Made by an operator, and not here yet.
  reserved boolean not null default false,
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

-- Only the SHA-256 of a session's token is here: a reader of this table cannot use it.
create table sessions (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  id text collate "C" not null unique check (id ~ '^ses-[0-9A-HJKMNP-TV-Z]{26}$'),
  user_id text collate "C" not null references users on delete cascade,
  began_by text not null default 'password' check (began_by in ('password', 'issuer', 'link')),
  issuer text,
  -- For the sign-out at the issuer, which recognizes its session by it.
  id_token text check (length(id_token) <= 16384),
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  -- Time of the last password, for acts that need a fresh one.
  password_at timestamptz not null default now(),
  expires_at timestamptz not null,
  address text not null,
  user_agent text
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_expiry on sessions (expires_at);

-- Links by which a password is set or its owner signs in, once.
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

-- One user of one OpenID Connect issuer is one user here, whatever becomes of an address there.
create table user_identities (
  issuer text collate "C" not null check (length(issuer) <= 2048),
  subject text collate "C" not null check (length(subject) between 1 and 255),
  user_id text collate "C" not null references users on delete cascade,
  created_at timestamptz not null default now(),
  primary key (issuer, subject),
  unique (user_id, issuer)
);

-- States of finished sign-ins at an issuer: each signs in once.
create table used_sign_in_states (
  state_hash bytea primary key check (octet_length(state_hash) = 32),
  expires_at timestamptz not null
);
create index used_sign_in_states_by_expiry on used_sign_in_states (expires_at);

-- Browsers in which a user has signed in: wrong passwords of others do not hold those up.
create table known_browsers (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id text collate "C" not null references users on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index known_browsers_by_user on known_browsers (user_id);
create index known_browsers_by_expiry on known_browsers (expires_at);

-- Attempts to sign in, counted by address and by account in windows. A crash may forget them.
create unlogged table sign_in_attempts (
  subject text collate "C" not null,
  window_start timestamptz not null,
  attempts integer not null,
  primary key (subject, window_start)
);
create index sign_in_attempts_by_window on sign_in_attempts (window_start);

-- Changes that were asked for in the dashboard, counted by user and by organization in windows of a
-- minute and of a day: its processes count together. A crash may forget them.
create unlogged table change_counts (
  subject text collate "C" not null,
  window_seconds integer not null,
  window_start timestamptz not null,
  changes integer not null,
  primary key (subject, window_seconds, window_start)
);
create index change_counts_by_window on change_counts (window_start);

-- Addresses that send X-Forwarded-For to the dashboard and are not in trusted_proxies, for
-- `doctor`. A crash may forget them.
create unlogged table untrusted_proxies (
  address text collate "C" primary key,
  seen_at timestamptz not null
);

-- Changes by people: who, when and from where. A row is committed with the change that it
-- describes. Append-only. Months, which an operator can archive and detach (docs/operating.md), are
-- made ahead by month-partitions.ts; a row without a month is stored in the default partition.
create table audit_log (
  id text collate "C" primary key check (id ~ '^evt-[0-9A-HJKMNP-TV-Z]{26}$'),
  created_at timestamptz not null default now(),
  -- Null: not about one organization.
  organization_id text collate "C",
  -- Null: an operator's command line or the service itself.
  actor_user_id text collate "C",
  -- As people know it: an e-mail address, or user@host of a command line.
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

-- Addresses of the explorer by name, which everybody of their organization reads.
create table saved_views (
  id text collate "C" primary key check (id ~ '^viw-[0-9A-HJKMNP-TV-Z]{26}$'),
  -- Null: over all organizations, of the operators.
  organization_id text collate "C" references organizations,
  name text not null check (length(name) between 1 and 200),
  page text not null check (page in ('overview', 'requests')),
  search text not null check (length(search) <= 4000),
  created_by text collate "C" not null,
  created_at timestamptz not null default now()
);
create unique index saved_views_by_name on saved_views (coalesce(organization_id, ''), name);

-- Alerts, and the outbox of what the dashboard sends by mail and webhook.

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
  -- What its messages look like; a channel of the outbox.
  webhook_kind text check (webhook_kind in ('webhook', 'slack')),
  check ((webhook_url is null) = (webhook_secret is null) and (webhook_url is null) = (webhook_kind is null))
);

-- Conditions that hold and were reported. Each is reported again only after it has ended.
create table alert_states (
  -- Empty: an alert of the operators.
  organization_id text collate "C" not null,
  kind text not null check (length(kind) between 1 and 50),
  -- Distinguishes conditions of one kind: the key or provider concerned. Empty: the organization
  -- has one such condition.
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
  -- Null: the attempt goes on, or its dashboard ended.
  took_ms integer,
  result text check (length(result) <= 300),
  primary key (outbox_id, attempt)
);

-- Payments by Stripe. Stripe is where they happen: rows here are as it was last read, and an entry
-- of the ledger follows each difference.

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
  -- Reads of Stripe are numbered as they begin. A read that began before the newest that was
  -- applied is worth nothing.
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
  event_missed_at timestamptz,
  paid_at timestamptz
);
create index top_ups_by_organization on top_ups (organization_id, id);
create index top_ups_without_event on top_ups (event_missed_at) where event_missed_at is not null;
create index top_ups_open on top_ups (created_at) where state = 'open';
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
