-- Writes a batch of the request log with its sums in one transaction. A batch whose reply was lost
-- is sent again unchanged, so looking up its first row is enough to detect that, and nothing is
-- written. If only some rows exist, the batch is refused, and the writer halves it. Returns the
-- number of new rows. One array of records, inserted without checking each row for conflicts, costs
-- 26 % less than an array for each column (measured in batches of 300).
create or replace function log_requests(requests logged_request[]) returns integer language plpgsql
security definer set search_path from current as $$
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
    id, organization_id, key_id, request_id, generation_id, route, model, model_known, provider, address, user_agent, status, code, streamed, replayed,
    client_gone, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_nano_usd, provider_cost_nano_usd, first_event_ms,
    duration_ms, end_user, metadata
  )
  select id, organization_id, key_id, request_id, generation_id, route, model, model_known, provider, address, user_agent, status, code, streamed, replayed,
    client_gone, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_nano_usd, provider_cost_nano_usd, first_event_ms,
    duration_ms, end_user, metadata::jsonb
  from unnest(requests);

  -- Locks sums and keys after the rows, in their order, so that concurrent processes may wait for
  -- each other but never deadlock.
  insert into request_stats as s (
    organization_id, hour, key_id, model, code, provider, status, streamed, requests, prompt_tokens, completion_tokens, cached_tokens,
    cost_nano_usd, provider_cost_nano_usd, known_revenue_nano_usd, first_event_buckets
  )
  select organization_id, to_timestamp(hour * 3600), key_id, model, code, provider, status, streamed, count(*),
    coalesce(sum(prompt_tokens), 0)::bigint, coalesce(sum(completion_tokens), 0)::bigint, coalesce(sum(cached_tokens), 0)::bigint,
    coalesce(sum(cost_nano_usd), 0)::bigint, coalesce(sum(provider_cost_nano_usd), 0)::bigint,
    coalesce(sum(cost_nano_usd) filter (where provider_cost_nano_usd is not null), 0)::bigint,
    array[
      count(*) filter (where bucket = 0), count(*) filter (where bucket = 1), count(*) filter (where bucket = 2),
      count(*) filter (where bucket = 3), count(*) filter (where bucket = 4), count(*) filter (where bucket = 5),
      count(*) filter (where bucket = 6), count(*) filter (where bucket = 7), count(*) filter (where bucket = 8),
      count(*) filter (where bucket = 9), count(*) filter (where bucket = 10)
    ]
  from (
    select g.organization_id, g.arrived_ms / 3600000 as hour, g.key_id, case when g.model_known then g.model else '' end as model,
      coalesce(g.code, '') as code, coalesce(g.provider, '') as provider, g.status, g.streamed, g.prompt_tokens, g.completion_tokens,
      g.cached_tokens, g.cost_nano_usd, g.provider_cost_nano_usd,
      width_bucket(g.first_event_ms, array[51, 101, 201, 401, 801, 1601, 3201, 6401, 12801, 25601]) as bucket
    from unnest(requests) g
  ) g
  group by organization_id, hour, key_id, model, code, provider, status, streamed
  order by organization_id, hour, key_id, model, code, provider, status, streamed
  on conflict (organization_id, hour, key_id, model, code, provider, status, streamed) do update set
    requests = s.requests + excluded.requests,
    prompt_tokens = s.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = s.completion_tokens + excluded.completion_tokens,
    cached_tokens = s.cached_tokens + excluded.cached_tokens,
    cost_nano_usd = s.cost_nano_usd + excluded.cost_nano_usd,
    provider_cost_nano_usd = s.provider_cost_nano_usd + excluded.provider_cost_nano_usd,
    known_revenue_nano_usd = s.known_revenue_nano_usd + excluded.known_revenue_nano_usd,
    first_event_buckets = array[
      s.first_event_buckets[1] + excluded.first_event_buckets[1], s.first_event_buckets[2] + excluded.first_event_buckets[2],
      s.first_event_buckets[3] + excluded.first_event_buckets[3], s.first_event_buckets[4] + excluded.first_event_buckets[4],
      s.first_event_buckets[5] + excluded.first_event_buckets[5], s.first_event_buckets[6] + excluded.first_event_buckets[6],
      s.first_event_buckets[7] + excluded.first_event_buckets[7], s.first_event_buckets[8] + excluded.first_event_buckets[8],
      s.first_event_buckets[9] + excluded.first_event_buckets[9], s.first_event_buckets[10] + excluded.first_event_buckets[10],
      s.first_event_buckets[11] + excluded.first_event_buckets[11]
    ];

  insert into key_activity as k (key_id, last_used_at, last_address)
  select distinct on (key_id) key_id, least(now(), to_timestamp(arrived_ms::double precision / 1000)), address
  from unnest(requests)
  order by key_id, arrived_ms desc
  on conflict (key_id) do update set last_used_at = excluded.last_used_at, last_address = excluded.last_address
  where excluded.last_used_at > k.last_used_at;
  return cardinality(requests);
end
$$;
revoke execute on function log_requests from public;
