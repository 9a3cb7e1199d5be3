-- The end user and the metadata that a client names: kept for its customer, in the request log, with the generation and in sums of usage.
-- Serves code from version 23 on.
set local lock_timeout = '2s';

alter table request_log
  -- `user` of the request, as the client named it.
  add column end_user text,
  -- `metadata` of the request, a JSON object.
  add column metadata text;

-- `logged_request` of 0015_cheaper_log_lines.sql, with what the client named.
create type tagged_request as (
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
  first_event_ms integer,
  duration_ms integer,
  end_user text,
  metadata text
);

-- As log_requests(logged_request[]) of 0015_cheaper_log_lines.sql.
create function log_requests(requests tagged_request[]) returns integer language plpgsql as $$
declare
  present bigint;
begin
  if exists (select from request_log l where l.organization_id = requests[1].organization_id and l.id = requests[1].id) then
    select count(*) into present
    from unnest(requests) g join request_log l on l.organization_id = g.organization_id and l.id = g.id;
    if present < cardinality(requests) then
      raise exception 'some rows of this batch are in the request log already' using errcode = 'unique_violation';
    end if;
    return 0;
  end if;

  insert into request_log (
    id, organization_id, key_id, request_id, generation_id, route, model, provider, address, user_agent, status, code, streamed, replayed,
    client_gone, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_nano_usd, first_event_ms, duration_ms, end_user, metadata
  )
  select id, organization_id, key_id, request_id, generation_id, route, model, provider, address, user_agent, status, code, streamed, replayed,
    client_gone, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_nano_usd, first_event_ms, duration_ms, end_user, metadata
  from unnest(requests);

  -- Sums and keys are locked in their order, after the rows: processes that write side by side wait for each other at most.
  insert into request_stats as s (
    organization_id, hour, key_id, model, code, requests, prompt_tokens, completion_tokens, cost_nano_usd, first_event_buckets
  )
  select organization_id, to_timestamp(hour * 3600), key_id, model, code, count(*), coalesce(sum(prompt_tokens), 0)::bigint,
    coalesce(sum(completion_tokens), 0)::bigint, coalesce(sum(cost_nano_usd), 0)::bigint,
    array[
      count(*) filter (where bucket = 0), count(*) filter (where bucket = 1), count(*) filter (where bucket = 2),
      count(*) filter (where bucket = 3), count(*) filter (where bucket = 4), count(*) filter (where bucket = 5),
      count(*) filter (where bucket = 6), count(*) filter (where bucket = 7), count(*) filter (where bucket = 8),
      count(*) filter (where bucket = 9), count(*) filter (where bucket = 10)
    ]
  from (
    select g.organization_id, g.arrived_ms / 3600000 as hour, g.key_id, case when g.model_known then g.model else '' end as model,
      coalesce(g.code, '') as code, g.prompt_tokens, g.completion_tokens, g.cost_nano_usd,
      width_bucket(g.first_event_ms, array[51, 101, 201, 401, 801, 1601, 3201, 6401, 12801, 25601]) as bucket
    from unnest(requests) g
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
  select distinct on (key_id) key_id, to_timestamp(arrived_ms::double precision / 1000), address
  from unnest(requests)
  order by key_id, arrived_ms desc
  on conflict (key_id) do update set last_used_at = excluded.last_used_at, last_address = excluded.last_address
  where excluded.last_used_at > k.last_used_at;
  return cardinality(requests);
end
$$;

-- For processes of the release before.
create or replace function log_requests(requests logged_request[]) returns integer language plpgsql as $$
begin
  return log_requests(array(select row(g.*, null::text, null::text)::tagged_request from unnest(requests) g));
end
$$;

-- Generations whose request named a user. A table of its own, so that charges of others cost nothing more.
create table generation_users (
  generation_id text collate "C" primary key,
  end_user text collate "C" not null
);

-- The part of daily_usage of each user. The key has a hash, because a name of 512 characters is too long for an index.
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
  cost_nano_usd bigint not null,
  primary key (organization_id, day, key_id, model, user_hash)
) with (fillfactor = 70);

-- Charges as charge_generations(held_charge[]), and counts each generation for its user once; `users` has one for each charge, or null. It counts
-- under the locks of the accounts, which the charge has taken.
create function charge_generations(charges held_charge[], users text[]) returns json language plpgsql as $$
declare
  result json;
begin
  result := charge_generations(charges);
  with tagged as (
    insert into generation_users as g (generation_id, end_user)
    select (charges[u.at]).id, u.end_user from unnest(users) with ordinality u (end_user, at) where u.end_user is not null
    on conflict do nothing
    returning g.generation_id, g.end_user
  )
  insert into user_usage as u (
    organization_id, day, key_id, model, user_hash, end_user, requests, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens,
    cost_nano_usd
  )
  select g.organization_id, g.day, g.key_id, g.model, sha256(convert_to(t.end_user, 'UTF8')), t.end_user, count(*), sum(g.prompt_tokens)::bigint,
    sum(g.completion_tokens)::bigint, sum(g.cached_tokens)::bigint, sum(g.reasoning_tokens)::bigint, sum(g.cost_nano_usd)::bigint
  from tagged t join generations g on g.id = t.generation_id
  group by g.organization_id, g.day, g.key_id, g.model, t.end_user
  on conflict (organization_id, day, key_id, model, user_hash) do update set
    requests = u.requests + excluded.requests,
    prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = u.completion_tokens + excluded.completion_tokens,
    cached_tokens = u.cached_tokens + excluded.cached_tokens,
    reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
    cost_nano_usd = u.cost_nano_usd + excluded.cost_nano_usd;
  return result;
end
$$;

-- As charge_stored_answers() of 0029_bounded_answers.sql, with the users of the charges.
create function charge_stored_answers(charges held_charge[], users text[], organizations text[], sizes bigint[], bound bigint)
returns table (charged json, evicted bigint) language plpgsql as $$
begin
  charged := charge_generations(charges, users);
  evicted := count_stored_answers(organizations, sizes, bound);
  return next;
end
$$;

do $$
declare
  one regprocedure;
begin
  for one in
    select p.oid from pg_proc p
    where p.pronamespace = current_schema()::regnamespace and p.proname in ('charge_generations', 'log_requests')
  loop
    execute format('alter function %s security definer set search_path = %I, pg_temp', one, current_schema());
    execute format('revoke execute on function %s from public', one);
  end loop;
end
$$;
