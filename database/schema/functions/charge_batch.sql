-- Charges a batch of finished requests, each exactly once, under the row locks of their accounts.
-- The charge is the smallest of cost, hold and remaining balance. Only its owner may call it, which
-- charge_generations() does with its rights and search path. Returns the resulting accounts,
-- including those of requests that were charged before, and the new losses: {"epoch": …,
-- "accounts": [[key, day, sequence, balance, spent that day by organization, by key]], "losses":
-- [[reason, amount]] or null}. Sequence and balance are those of snapshots (tables.sql, accounts).
-- Accounts of keys with long budgets have two more elements, the key's spend of the month and of
-- its lifetime. Other keys do not pay for computing them.
create or replace function charge_batch(charges charge[]) returns json language plpgsql as $$
#variable_conflict use_column
declare
  keys_are_theirs boolean;
  refused text;
  short boolean;
  above_hold boolean;
  has_budgets boolean;
  payable bigint;
  one charge;
  charged bigint;
  fresh_ids text[];
  lost jsonb;
  result json;
begin
  -- Locks in the order of organizations, so that two batches cannot deadlock. Everything below that
  -- belongs to an organization or one of its keys changes only under this lock, and later
  -- statements see everything that was committed before.
  select greatest(min(a.balance_nano_usd), 0) into payable
  from (
    select a.balance_nano_usd from accounts a where a.organization_id = any (array(select g.organization_id from unnest(charges) g))
    order by a.organization_id for update
  ) a;

  select count(k.id) = count(*), min(charge_flaw(g)), payable < sum(least(g.cost_nano_usd, g.hold_nano_usd)), bool_or(g.cost_nano_usd > g.hold_nano_usd),
    bool_or(k.monthly_budget_nano_usd is not null or k.lifetime_budget_nano_usd is not null)
  into keys_are_theirs, refused, short, above_hold, has_budgets
  from unnest(charges) g left join keys k on k.id = g.key_id and k.organization_id = g.organization_id;

  if not keys_are_theirs then
    raise exception 'a settlement names a key that is not of its organization' using errcode = 'foreign_key_violation';
  end if;
  if refused is not null then
    raise exception 'a check of generations refuses a settlement for %', refused using errcode = 'check_violation';
  end if;

  if short and cardinality(charges) > 1 then
    -- The sum of the batch exceeds the smallest balance. Compares each organization with its own
    -- balance.
    select coalesce(bool_or(a.balance_nano_usd < d.due), false) into short
    from accounts a join (
      select organization_id, sum(least(cost_nano_usd, hold_nano_usd)) as due from unnest(charges) group by organization_id
    ) d on d.organization_id = a.organization_id;
  end if;

  if short and cardinality(charges) > 1 then
    -- Charges one request at a time, by id, until the balance is used up. A repetition among them
    -- costs nothing.
    for one in select g.* from unnest(charges) g order by g.id loop
      lost := coalesce(lost, '[]') || coalesce((charge_batch(array[one]) ->> 'losses')::jsonb, '[]');
    end loop;
  else
    with fresh as (
      insert into generations as g (
        id, organization_id, key_id, day, model, provider, upstream_id, created_at, streamed, cancelled, finish_reason,
        prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, usage_counted, input_pico_usd, cached_input_pico_usd,
        output_pico_usd, cost_nano_usd, first_event_ms, generation_time_ms, hold_nano_usd, provider_model, cache_write_tokens,
        cache_write_1h_tokens, cache_write_pico_usd, cache_write_1h_pico_usd, service_tier, priced_tier, priced_above_tokens, api
      )
      select
        id, organization_id, key_id, day, model, provider, upstream_id, to_timestamp(created_ms::double precision / 1000), streamed, cancelled,
        finish_reason, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, usage_counted, input_pico_usd, cached_input_pico_usd,
        output_pico_usd, least(cost_nano_usd, hold_nano_usd, case when short then payable end), first_event_ms, generation_time_ms,
        hold_nano_usd, provider_model, cache_write_tokens, cache_write_1h_tokens, cache_write_pico_usd, cache_write_1h_pico_usd, service_tier,
        priced_tier, priced_above_tokens, coalesce(api, 'chat')
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
      returning a.organization_id, a.sequence - t.entries as sequence_before, a.balance_nano_usd + t.cost as balance_before,
        a.sequence + a.dead_letter_changes as sequence, a.balance_nano_usd - a.dead_letters_nano_usd as available
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
        u.key_id, u.day - date '1970-01-01', a.sequence, a.available::text, o.spent_nano_usd::text, k.spent_nano_usd::text)))
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

  if charged = cardinality(charges) and lost is null and not has_budgets then
    return result;
  end if;

  if exists (
    select from unnest(charges) g where not exists (select from accounts a where a.organization_id = g.organization_id)
  ) then
    raise exception 'an organization has no account' using errcode = 'foreign_key_violation';
  end if;
  -- An existing id is a repetition, unless the request belongs to another organization, which would
  -- then not pay for this one.
  if exists (
    select from unnest(charges) g join generations e on e.id = g.id where e.organization_id <> g.organization_id
  ) then
    raise exception 'a generation id belongs to another organization' using errcode = 'unique_violation';
  end if;

  return (
    select json_build_object('epoch', (select s.epoch from ledger_state s), 'accounts', json_agg(json_build_array(
      g.key_id, g.day - date '1970-01-01', a.sequence + a.dead_letter_changes, (a.balance_nano_usd - a.dead_letters_nano_usd)::text,
      coalesce(o.spent_nano_usd, 0)::text,
      coalesce(k.spent_nano_usd, 0)::text, case when b.monthly_budget_nano_usd is not null then key_month_spend(g.key_id, g.day)::text end,
      case when b.lifetime_budget_nano_usd is not null then key_lifetime_spend(g.key_id)::text end)), 'losses', lost)
    from (select distinct organization_id, key_id, day from unnest(charges)) g
    join accounts a on a.organization_id = g.organization_id
    join keys b on b.id = g.key_id
    left join organization_daily_spend o on o.organization_id = g.organization_id and o.day = g.day
    left join key_daily_spend k on k.key_id = g.key_id and k.day = g.day
  );
end
$$;
revoke execute on function charge_batch from public;
