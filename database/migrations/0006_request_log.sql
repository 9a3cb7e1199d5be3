-- What was asked, by whom, and how it ended: for people, not for money. Written in batches beside the requests and lossy by design; no
-- charge depends on it. Rows carry neither foreign keys nor checks: one writer makes them, and a check of an id's form costs as much as two
-- indexes (4 us of the 22 us that a row costs PostgreSQL in batches of 200, measured).

-- Ids sort by time, so a partition is a day, a range of time is a range of ids, and a page is one walk down an index. Days are made ahead
-- and dropped after `request_log.retention` by request-log-partitions.ts.
create table request_log (
  id text collate "C" not null,
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
  -- Of the error catalogue; null: it went well, or its client left before there was an answer (status 499).
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
-- Request ids are random: a hash of them is half as dear to keep as a tree.
create index request_log_by_request on request_log using hash (request_id);
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

-- When and from where each key was last used, refused or not.
create table key_activity (
  key_id text collate "C" primary key,
  last_used_at timestamptz not null,
  last_address text not null
) with (fillfactor = 50);

-- Writes a batch of the log with its sums. All of it is one transaction, so that a batch whose answer was lost may simply be written again:
-- then all its rows are there, and nothing is counted twice. A batch of which only some rows are there is refused; its writer halves it.
-- Returns how many rows are new. Sums and keys are locked in their order, after the rows: processes that write side by side wait for each
-- other at most.
create function write_request_log(
  ids text[], arrived_ms bigint[], organization_ids text[], key_ids text[], request_ids text[], generation_ids text[], routes text[],
  models text[], known_models boolean[], providers text[], addresses text[], user_agents text[], statuses smallint[], codes text[],
  streamed_flags boolean[], replayed_flags boolean[], client_gone_flags boolean[], prompt bigint[], completion bigint[], cached bigint[],
  reasoning bigint[], costs bigint[], first_events_ms integer[], durations_ms integer[]
) returns integer language plpgsql as $$
declare
  written integer;
begin
  insert into request_log (
    id, organization_id, key_id, request_id, generation_id, route, model, provider, address, user_agent, status, code, streamed, replayed,
    client_gone, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_nano_usd, first_event_ms, duration_ms
  )
  select * from unnest(
    ids, organization_ids, key_ids, request_ids, generation_ids, routes, models, providers, addresses, user_agents, statuses, codes,
    streamed_flags, replayed_flags, client_gone_flags, prompt, completion, cached, reasoning, costs, first_events_ms, durations_ms
  )
  on conflict do nothing;
  get diagnostics written = row_count;
  if written = 0 then
    return 0;
  end if;
  if written < cardinality(ids) then
    raise exception 'some rows of this batch are in the request log already' using errcode = 'unique_violation';
  end if;

  insert into request_stats as s (
    organization_id, hour, key_id, model, code, requests, prompt_tokens, completion_tokens, cost_nano_usd, first_event_buckets
  )
  select organization_id, to_timestamp(hour * 3600), key_id, model, code, count(*), coalesce(sum(prompt_tokens), 0)::bigint,
    coalesce(sum(completion_tokens), 0)::bigint, coalesce(sum(cost), 0)::bigint,
    array[
      count(*) filter (where bucket = 0), count(*) filter (where bucket = 1), count(*) filter (where bucket = 2),
      count(*) filter (where bucket = 3), count(*) filter (where bucket = 4), count(*) filter (where bucket = 5),
      count(*) filter (where bucket = 6), count(*) filter (where bucket = 7), count(*) filter (where bucket = 8),
      count(*) filter (where bucket = 9), count(*) filter (where bucket = 10)
    ]
  from (
    select g.organization_id, g.arrived / 3600000 as hour, g.key_id, case when g.known then g.model else '' end as model,
      coalesce(g.code, '') as code, g.prompt_tokens, g.completion_tokens, g.cost,
      width_bucket(g.first_event_ms, array[51, 101, 201, 401, 801, 1601, 3201, 6401, 12801, 25601]) as bucket
    from unnest(organization_ids, arrived_ms, key_ids, models, known_models, codes, prompt, completion, costs, first_events_ms)
      as g (organization_id, arrived, key_id, model, known, code, prompt_tokens, completion_tokens, cost, first_event_ms)
  ) g
  group by organization_id, hour, key_id, model, code
  order by organization_id, hour, key_id, model, code
  on conflict (organization_id, hour, key_id, model, code) do update set
    requests = s.requests + excluded.requests,
    prompt_tokens = s.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = s.completion_tokens + excluded.completion_tokens,
    cost_nano_usd = s.cost_nano_usd + excluded.cost_nano_usd,
    first_event_buckets = array[
      s.first_event_buckets[1] + excluded.first_event_buckets[1], s.first_event_buckets[2] + excluded.first_event_buckets[2],
      s.first_event_buckets[3] + excluded.first_event_buckets[3], s.first_event_buckets[4] + excluded.first_event_buckets[4],
      s.first_event_buckets[5] + excluded.first_event_buckets[5], s.first_event_buckets[6] + excluded.first_event_buckets[6],
      s.first_event_buckets[7] + excluded.first_event_buckets[7], s.first_event_buckets[8] + excluded.first_event_buckets[8],
      s.first_event_buckets[9] + excluded.first_event_buckets[9], s.first_event_buckets[10] + excluded.first_event_buckets[10],
      s.first_event_buckets[11] + excluded.first_event_buckets[11]
    ];

  insert into key_activity as k (key_id, last_used_at, last_address)
  select distinct on (key_id) key_id, to_timestamp(arrived::double precision / 1000), address
  from unnest(key_ids, arrived_ms, addresses) as g (key_id, arrived, address)
  order by key_id, arrived desc
  on conflict (key_id) do update set last_used_at = excluded.last_used_at, last_address = excluded.last_address
  where excluded.last_used_at > k.last_used_at;
  return written;
end
$$;
