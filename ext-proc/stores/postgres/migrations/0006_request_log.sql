-- What was asked, by whom, and how it ended: for people, not for money. Written in batches beside the requests and lossy by design; no
-- charge depends on it. Rows carry no foreign keys and no checks beyond what the page relies on.

-- Ids sort by time, so a partition is a day, a range of time is a range of ids, and a page is one walk down an index. Days are made ahead
-- and dropped after `request_log.retention` by request-log-partitions.ts.
create table request_log (
  id text collate "C" not null check (id ~ '^log-[0-7][0-9A-HJKMNP-TV-Z]{25}$'),
  organization_id text collate "C" not null,
  key_id text collate "C" not null,
  request_id text collate "C" not null,
  generation_id text collate "C",
  route text not null,
  -- As sent by the client where it is no model of ours; null: not known yet when the request was refused.
  model text collate "C",
  provider text,
  address text not null,
  user_agent text,
  status smallint not null,
  -- Of the error catalogue; null: it went well.
  code text collate "C",
  streamed boolean not null,
  replayed boolean not null,
  client_gone boolean not null,
  prompt_tokens bigint,
  completion_tokens bigint,
  cached_tokens bigint,
  reasoning_tokens bigint,
  cost_nano_usd bigint,
  first_event_ms integer,
  duration_ms integer not null,
  primary key (organization_id, id)
) partition by range (id);
create table request_log_other partition of request_log default;
create index request_log_by_key on request_log (key_id, id);
create index request_log_by_model on request_log (organization_id, model, id);
-- Failures are few: these two are small.
create index request_log_failures on request_log (organization_id, id) where code is not null;
create index request_log_by_code on request_log (organization_id, code, id) where code is not null;
create index request_log_by_request on request_log (request_id);
create index request_log_by_generation on request_log (generation_id) where generation_id is not null;

-- Sums of the log by hour, for charts and rates: written in the same transaction as the rows, kept when those are dropped.
create table request_stats (
  organization_id text collate "C" not null,
  hour timestamptz not null,
  key_id text collate "C" not null,
  -- Empty: no model of the configuration, so that clients cannot invent groups.
  model text collate "C" not null,
  -- Empty: it went well.
  code text collate "C" not null,
  requests bigint not null,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cost_nano_usd bigint not null,
  -- Completions by time to the first event: up to 50, 100, 200, 400, 800, 1600, 3200, 6400, 12800, 25600 ms, and beyond.
  first_event_buckets bigint[] not null check (cardinality(first_event_buckets) = 11),
  primary key (organization_id, hour, key_id, model, code)
) with (fillfactor = 70);

create table key_activity (
  key_id text collate "C" primary key,
  last_used_at timestamptz not null,
  last_address text not null
) with (fillfactor = 50);
