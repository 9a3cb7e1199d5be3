-- Charges finished requests, each exactly once (see charge_batch() for rules and result). Also
-- records the user, provider cost and list price of each. `users`, `costs` and `list_prices` are
-- null, or have one element for each charge, which may be null. They are written under the account
-- locks that the charge has taken, and a repetition changes nothing.
create or replace function charge_generations(
  charges charge[], users text[] default null, costs bigint[] default null, list_prices bigint[] default null
) returns json language plpgsql
security definer set search_path from current as $$
declare
  result json;
  late_before bigint := (extract(epoch from now() - interval '5 hours') * 1000)::bigint;
  any_late boolean;
begin
  -- Overrides the session's setting. With a session pooler it may be left over from the request
  -- log, which accepts that a crash loses its commits.
  if current_setting('synchronous_commit') in ('off', 'local') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  if cardinality(charges) = 1 then
    result := charge_one(charges[1]);
    any_late := (charges[1]).created_ms < late_before;
  else
    select bool_or(c.created_ms < late_before) into any_late from unnest(charges) c;
  end if;
  if result is null then
    result := charge_batch(charges);
  end if;

  if users is not null then
    with tagged as (
      insert into generation_users as g (generation_id, end_user)
      select (charges[u.at]).id, u.end_user from unnest(users) with ordinality u (end_user, at) where u.end_user is not null
      on conflict do nothing
      returning g.generation_id, g.end_user
    )
    insert into user_usage as u (
      organization_id, day, key_id, model, user_hash, end_user, requests, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens,
      cache_write_tokens, cache_write_1h_tokens, cost_nano_usd
    )
    select g.organization_id, g.day, g.key_id, g.model, sha256(convert_to(t.end_user, 'UTF8')), t.end_user, count(*), sum(g.prompt_tokens)::bigint,
      sum(g.completion_tokens)::bigint, sum(g.cached_tokens)::bigint, sum(g.reasoning_tokens)::bigint,
      sum(g.cache_write_tokens)::bigint, sum(g.cache_write_1h_tokens)::bigint, sum(g.cost_nano_usd)::bigint
    from tagged t join generations g on g.id = t.generation_id
    group by g.organization_id, g.day, g.key_id, g.model, t.end_user
    on conflict (organization_id, day, key_id, model, user_hash) do update set
      requests = u.requests + excluded.requests,
      prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = u.completion_tokens + excluded.completion_tokens,
      cached_tokens = u.cached_tokens + excluded.cached_tokens,
      reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
      cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
      cache_write_1h_tokens = u.cache_write_1h_tokens + excluded.cache_write_1h_tokens,
      cost_nano_usd = u.cost_nano_usd + excluded.cost_nano_usd;
  end if;
  if costs is not null or list_prices is not null then
    insert into generation_costs (generation_id, cost_nano_usd, list_nano_usd)
    select (charges[c.at]).id, c.cost, c.list from unnest(costs, list_prices) with ordinality c (cost, list, at)
    where c.cost is not null or c.list is not null
    on conflict do nothing;
  end if;
  if any_late then
    -- Only charges of this transaction: a repetition is in the sums already.
    insert into late_costs (generation_id)
    select g.id from unnest(charges) c join generations g on g.id = c.id
    where c.created_ms < late_before and g.xmin = pg_current_xact_id()::xid;
  end if;
  return result;
end
$$;
revoke execute on function charge_generations from public;
