-- Prices of a table: writes to a prompt cache have prices of their own, and a charge keeps the entry that it was made with.
-- Serves code from version 23 on.

-- The locks in the order of 0016_charges_within_holds.sql.
set local lock_timeout = '2s';
lock table accounts in access exclusive mode;

alter table generations
  -- Part of the prompt tokens; those of an hour are part of them.
  add column cache_write_tokens bigint not null default 0,
  add column cache_write_1h_tokens bigint not null default 0,
  -- As the other prices: of the entry that applied.
  add column cache_write_pico_usd bigint not null default 0,
  add column cache_write_1h_pico_usd bigint not null default 0,
  -- The tier that the provider named. Null: it named none.
  add column service_tier text,
  -- The entry: its tier (null: the default one), and above how many input tokens it applies (null: it has no such bound).
  add column priced_tier text,
  add column priced_above_tokens bigint;

alter table daily_usage
  add column cache_write_tokens bigint not null default 0,
  add column cache_write_1h_tokens bigint not null default 0;

alter table user_usage
  add column cache_write_tokens bigint not null default 0,
  add column cache_write_1h_tokens bigint not null default 0;

-- `held_charge` of 0016_charges_within_holds.sql, with what a price table needs.
create type priced_charge as (
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
  reasoning_tokens bigint,
  usage_counted boolean,
  input_pico_usd bigint,
  cached_input_pico_usd bigint,
  output_pico_usd bigint,
  cost_nano_usd bigint,
  latency_ms bigint,
  generation_time_ms bigint,
  hold_nano_usd bigint,
  provider_model text,
  cache_write_tokens bigint,
  cache_write_1h_tokens bigint,
  cache_write_pico_usd bigint,
  cache_write_1h_pico_usd bigint,
  service_tier text,
  priced_tier text,
  priced_above_tokens bigint
);

-- As charge_generations(held_charge[]) of 0016_charges_within_holds.sql.
create function charge_generations(charges priced_charge[]) returns json language plpgsql as $$
#variable_conflict use_column
declare
  keys_are_theirs boolean;
  refused text;
  short boolean;
  above_hold boolean;
  payable bigint;
  one priced_charge;
  charged bigint;
  fresh_ids text[];
  lost jsonb;
  result json;
begin
  -- Whatever the session says: the one of the request log may have been handed on, and lets its commits be lost with a crash.
  if current_setting('synchronous_commit') in ('off', 'local') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  -- In organization order, so that two batches can never wait for each other. Everything below that is keyed by organization or by one of
  -- its keys changes only under this lock; the statements after it see all that was committed before.
  select greatest(min(a.balance_nano_usd), 0) into payable
  from (
    select a.balance_nano_usd from accounts a where a.organization_id = any (array(select g.organization_id from unnest(charges) g))
    order by a.organization_id for update
  ) a;

  select count(k.id) = count(*), case
    when not bool_and(octet_length(g.id) = 30 and g.id >= 'gen-0' and g.id < 'gen-8') then 'its id'
    when not bool_and(
      length(g.model) between 1 and 500 and length(g.provider) between 1 and 500 and coalesce(length(g.upstream_id), 0) <= 200
      and coalesce(length(g.finish_reason), 0) <= 100
      and coalesce(length(g.provider_model), 1) between 1 and 500
      and coalesce(length(g.service_tier), 0) <= 64 and coalesce(length(g.priced_tier), 1) between 1 and 64
    ) then 'its texts'
    when not bool_and(
      g.prompt_tokens >= 0 and g.completion_tokens >= 0 and g.cached_tokens between 0 and g.prompt_tokens
      and g.cache_write_tokens between 0 and g.prompt_tokens - g.cached_tokens and g.cache_write_1h_tokens between 0 and g.cache_write_tokens
      and g.reasoning_tokens between 0 and g.completion_tokens
    ) then 'its tokens'
    when not bool_and(
      g.input_pico_usd >= 0 and g.cached_input_pico_usd >= 0 and g.output_pico_usd >= 0
      and g.cache_write_pico_usd >= 0 and g.cache_write_1h_pico_usd >= 0 and coalesce(g.priced_above_tokens, 1) > 0
      and coalesce(g.cost_nano_usd, -1) between 0 and 1000000000000000000 and coalesce(g.hold_nano_usd, 0) >= 0
    ) then 'its prices or cost'
    when not bool_and(g.latency_ms >= 0 and g.generation_time_ms >= 0) then 'its times'
  end, payable < sum(least(g.cost_nano_usd, g.hold_nano_usd)), bool_or(g.cost_nano_usd > g.hold_nano_usd)
  into keys_are_theirs, refused, short, above_hold
  from unnest(charges) g left join keys k on k.id = g.key_id and k.organization_id = g.organization_id;

  if not keys_are_theirs then
    raise exception 'a settlement names a key that is not of its organization' using errcode = 'foreign_key_violation';
  end if;
  if refused is not null then
    raise exception 'a check of generations refuses a settlement for %', refused using errcode = 'check_violation';
  end if;

  if short and cardinality(charges) > 1 then
    -- All of them together are more than the smallest balance; each organization has its own.
    select coalesce(bool_or(a.balance_nano_usd < d.due), false) into short
    from accounts a join (
      select organization_id, sum(least(cost_nano_usd, hold_nano_usd)) as due from unnest(charges) group by organization_id
    ) d on d.organization_id = a.organization_id;
  end if;

  if short and cardinality(charges) > 1 then
    -- What is left goes to the first ids. One at a time, because a repetition among them takes nothing of it.
    for one in select g.* from unnest(charges) g order by g.id loop
      lost := coalesce(lost, '[]') || coalesce((charge_generations(array[one]) ->> 'losses')::jsonb, '[]');
    end loop;
  else
    with fresh as (
      insert into generations as g (
        id, organization_id, key_id, day, model, provider, upstream_id, created_at, streamed, cancelled, finish_reason,
        prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, usage_counted, input_pico_usd, cached_input_pico_usd,
        output_pico_usd, cost_nano_usd, latency_ms, generation_time_ms, hold_nano_usd, provider_model, cache_write_tokens,
        cache_write_1h_tokens, cache_write_pico_usd, cache_write_1h_pico_usd, service_tier, priced_tier, priced_above_tokens
      )
      select
        id, organization_id, key_id, day, model, provider, upstream_id, to_timestamp(created_ms::double precision / 1000), streamed, cancelled,
        finish_reason, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, usage_counted, input_pico_usd, cached_input_pico_usd,
        output_pico_usd, least(cost_nano_usd, hold_nano_usd, case when short then payable end), latency_ms, generation_time_ms,
        hold_nano_usd, provider_model, cache_write_tokens, cache_write_1h_tokens, cache_write_pico_usd, cache_write_1h_pico_usd, service_tier,
        priced_tier, priced_above_tokens
      from unnest(charges)
      on conflict do nothing
      returning g.id, g.organization_id, g.key_id, g.day, g.model, g.prompt_tokens, g.completion_tokens, g.cached_tokens, g.reasoning_tokens,
        g.cache_write_tokens, g.cache_write_1h_tokens, g.cost_nano_usd as cost
    ), used as materialized (
      select organization_id, day, key_id, model, count(*) as requests, sum(prompt_tokens)::bigint as prompt,
        sum(completion_tokens)::bigint as completion, sum(cached_tokens)::bigint as cached, sum(reasoning_tokens)::bigint as reasoning,
        sum(cache_write_tokens)::bigint as written, sum(cache_write_1h_tokens)::bigint as written_1h, sum(cost)::bigint as cost
      from fresh group by organization_id, day, key_id, model
    ), account as (
      update accounts a
      set sequence = a.sequence + t.entries,
        balance_nano_usd = a.balance_nano_usd - t.cost,
        total_usage_nano_usd = a.total_usage_nano_usd + t.cost
      from (select organization_id, sum(requests)::bigint as entries, sum(cost)::bigint as cost from used group by organization_id) t
      where a.organization_id = t.organization_id
      returning a.organization_id, a.sequence, a.balance_nano_usd, a.sequence - t.entries as sequence_before,
        a.balance_nano_usd + t.cost as balance_before
    ), entry as (
      insert into ledger_entries (organization_id, sequence, kind, amount_nano_usd, balance_nano_usd, generation_id)
      select f.organization_id, a.sequence_before + row_number() over charges, 'charge', -f.cost,
        a.balance_before - (sum(f.cost) over charges)::bigint, f.id
      from fresh f join account a on a.organization_id = f.organization_id
      window charges as (partition by f.organization_id order by f.id rows unbounded preceding)
    ), organization_day as (
      insert into organization_daily_spend as d (organization_id, day, spent_nano_usd)
      select organization_id, day, sum(cost)::bigint from used group by organization_id, day
      on conflict (organization_id, day) do update set spent_nano_usd = d.spent_nano_usd + excluded.spent_nano_usd
      returning d.organization_id, d.day, d.spent_nano_usd
    ), key_day as (
      insert into key_daily_spend as d (key_id, day, spent_nano_usd)
      select key_id, day, sum(cost)::bigint from used group by key_id, day
      on conflict (key_id, day) do update set spent_nano_usd = d.spent_nano_usd + excluded.spent_nano_usd
      returning d.key_id, d.day, d.spent_nano_usd
    ), usage as (
      insert into daily_usage as u (
        organization_id, day, key_id, model, requests, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cache_write_tokens,
        cache_write_1h_tokens, cost_nano_usd
      )
      select organization_id, day, key_id, model, requests, prompt, completion, cached, reasoning, written, written_1h, cost from used
      on conflict (organization_id, day, key_id, model) do update set
        requests = u.requests + excluded.requests,
        prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
        completion_tokens = u.completion_tokens + excluded.completion_tokens,
        cached_tokens = u.cached_tokens + excluded.cached_tokens,
        reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
        cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
        cache_write_1h_tokens = u.cache_write_1h_tokens + excluded.cache_write_1h_tokens,
        cost_nano_usd = u.cost_nano_usd + excluded.cost_nano_usd
    )
    select sum(u.requests), case when short or above_hold then (select array_agg(f.id) from fresh f) end,
      json_build_object('epoch', (select s.epoch from ledger_state s), 'accounts', json_agg(json_build_array(
        u.key_id, u.day - date '1970-01-01', a.sequence, a.balance_nano_usd::text, o.spent_nano_usd::text, k.spent_nano_usd::text)))
    into charged, fresh_ids, result
    from used u
    join account a on a.organization_id = u.organization_id
    join organization_day o on o.organization_id = u.organization_id and o.day = u.day
    join key_day k on k.key_id = u.key_id and k.day = u.day;

    if short or above_hold then
      with loss as (
        insert into losses as l (generation_id, organization_id, reason, amount_nano_usd, model, provider)
        select g.id, g.organization_id, r.reason, r.amount, g.model, g.provider
        from unnest(charges) g
        join generations e on e.id = g.id
        cross join lateral (values
          ('over_hold', g.cost_nano_usd - least(g.cost_nano_usd, g.hold_nano_usd)),
          ('balance', least(g.cost_nano_usd, g.hold_nano_usd) - e.cost_nano_usd)
        ) r (reason, amount)
        where e.id = any (fresh_ids) and r.amount > 0
        on conflict do nothing
        returning l.reason, l.amount_nano_usd
      )
      select jsonb_agg(jsonb_build_array(reason, amount_nano_usd::text)) into lost from loss;
    end if;
  end if;

  if charged = cardinality(charges) and lost is null then
    return result;
  end if;

  if exists (
    select from unnest(charges) g where not exists (select from accounts a where a.organization_id = g.organization_id)
  ) then
    raise exception 'an organization has no account' using errcode = 'foreign_key_violation';
  end if;
  -- An id that was there before is a repetition, unless somebody else's request has it: then this one would go unpaid.
  if exists (
    select from unnest(charges) g join generations e on e.id = g.id where e.organization_id <> g.organization_id
  ) then
    raise exception 'a generation id belongs to another organization' using errcode = 'unique_violation';
  end if;

  return (
    select json_build_object('epoch', (select s.epoch from ledger_state s), 'accounts', json_agg(json_build_array(
      g.key_id, g.day - date '1970-01-01', a.sequence, a.balance_nano_usd::text, coalesce(o.spent_nano_usd, 0)::text,
      coalesce(k.spent_nano_usd, 0)::text)), 'losses', lost)
    from (select distinct organization_id, key_id, day from unnest(charges)) g
    join accounts a on a.organization_id = g.organization_id
    left join organization_daily_spend o on o.organization_id = g.organization_id and o.day = g.day
    left join key_daily_spend k on k.key_id = g.key_id and k.day = g.day
  );
end
$$;

-- As charge_generations(held_charge[], text[]) of 0034_users.sql.
create function charge_generations(charges priced_charge[], users text[]) returns json language plpgsql as $$
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
  return result;
end
$$;

-- As both charge_stored_answers() of held_charge[].
create function charge_stored_answers(charges priced_charge[], users text[], organizations text[], sizes bigint[], bound bigint)
returns table (charged json, evicted bigint) language plpgsql as $$
begin
  charged := charge_generations(charges, users);
  evicted := count_stored_answers(organizations, sizes, bound);
  return next;
end
$$;

create function charge_stored_answers(charges priced_charge[], organizations text[], sizes bigint[], bound bigint)
returns table (charged json, evicted bigint) language plpgsql as $$
begin
  charged := charge_generations(charges);
  evicted := count_stored_answers(organizations, sizes, bound);
  return next;
end
$$;

-- For processes of the release before, and what they left in dead letters.
create or replace function charge_generations(charges held_charge[]) returns json language plpgsql as $$
begin
  return charge_generations(array(select row(g.*, 0, 0, 0, 0, null::text, null::text, null::bigint)::priced_charge from unnest(charges) g));
end
$$;

do $$
declare
  one regprocedure;
begin
  for one in
    select p.oid from pg_proc p where p.pronamespace = current_schema()::regnamespace and p.proname = 'charge_generations'
  loop
    execute format('alter function %s security definer set search_path = %I, pg_temp', one, current_schema());
    execute format('revoke execute on function %s from public', one);
  end loop;
end
$$;
