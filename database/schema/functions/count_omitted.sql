-- Stores counts that only increase. What exceeds the stored count is added to the sums in the same
-- transaction, so counts may be sent again if the reply was lost. Sums and keys are locked in the
-- same order as in log_requests().
create or replace function count_omitted(counted_by text, counts omitted_count[]) returns void language plpgsql
security definer set search_path from current as $$
declare
  more omitted_count[];
begin
  select array_agg(
    (c.organization_id, c.minute, c.key_id, c.model, c.code, c.status, c.requests - coalesce(l.requests, 0), c.last_ms, c.address)::omitted_count
  ) into more
  from unnest(counts) c
  left join omitted_requests l on l.organization_id = c.organization_id and l.minute = c.minute and l.key_id = c.key_id
    and l.model = c.model and l.code = c.code and l.status = c.status and l.writer = counted_by
  where c.requests > coalesce(l.requests, 0);
  if more is null then
    return;
  end if;

  insert into omitted_requests as l (organization_id, minute, key_id, model, code, status, writer, requests)
  select organization_id, minute, key_id, model, code, status, counted_by, requests from unnest(more)
  on conflict (organization_id, minute, key_id, model, code, status, writer) do update set requests = l.requests + excluded.requests;

  insert into request_stats as s (
    organization_id, hour, key_id, model, code, provider, status, streamed, requests, prompt_tokens, completion_tokens, cached_tokens,
    cost_nano_usd, provider_cost_nano_usd, known_revenue_nano_usd, first_event_buckets
  )
  select organization_id, to_timestamp(minute / 60 * 3600), key_id, model, code, '', status, false, sum(requests)::bigint, 0, 0, 0, 0, 0, 0,
    array_fill(0::bigint, array[11])
  from unnest(more)
  group by organization_id, minute / 60, key_id, model, code, status
  order by organization_id, minute / 60, key_id, model, code, status
  on conflict (organization_id, hour, key_id, model, code, provider, status, streamed) do update set requests = s.requests + excluded.requests;

  insert into key_activity as k (key_id, last_used_at, last_address)
  select distinct on (key_id) key_id, least(now(), to_timestamp(last_ms::double precision / 1000)), address
  from unnest(more)
  order by key_id, last_ms desc
  on conflict (key_id) do update set last_used_at = excluded.last_used_at, last_address = excluded.last_address
  where excluded.last_used_at > k.last_used_at;
end
$$;
revoke execute on function count_omitted from public;
