-- Every change of money goes through these two functions, under the account's row lock.

-- Charges a batch of finished requests, each exactly once. Returns one row per given id, also for those charged before.
create function settle_generations(
  ids text[], organization_ids text[], key_ids text[], days date[], models text[], providers text[], upstream_ids text[],
  created_ms bigint[], streamed_flags boolean[], cancelled_flags boolean[], finish_reasons text[],
  prompt bigint[], completion bigint[], cached bigint[], reasoning bigint[], counted_flags boolean[],
  input_prices bigint[], cached_input_prices bigint[], output_prices bigint[], costs bigint[],
  latencies_ms bigint[], generation_times_ms bigint[]
) returns table (
  generation_id text, epoch uuid, sequence bigint, balance_nano_usd bigint, organization_spent_nano_usd bigint, key_spent_nano_usd bigint
) language plpgsql as $$
#variable_conflict use_column
declare
  inserted bigint;
begin
  -- In organization order, so that two batches can never wait for each other. Everything below that is keyed by organization or by one of
  -- its keys changes only under this lock; the statements after it see all that was committed before.
  perform from accounts a where a.organization_id = any (organization_ids) order by a.organization_id for update;

  if exists (
    select from unnest(organization_ids, key_ids) as g (organization_id, key_id)
    where not exists (select from keys k where k.id = g.key_id and k.organization_id = g.organization_id)
  ) then
    raise exception 'a settlement names a key that is not of its organization' using errcode = 'foreign_key_violation';
  end if;

  with given as (
    select * from unnest(
      ids, organization_ids, key_ids, days, models, providers, upstream_ids, created_ms, streamed_flags, cancelled_flags, finish_reasons,
      prompt, completion, cached, reasoning, counted_flags, input_prices, cached_input_prices, output_prices, costs, latencies_ms,
      generation_times_ms
    ) as g (
      id, organization_id, key_id, day, model, provider, upstream_id, created_ms, streamed, cancelled, finish_reason,
      prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, usage_counted, input_price, cached_input_price, output_price,
      cost, latency_ms, generation_time_ms
    )
  ), fresh as (
    insert into generations as g (
      id, organization_id, key_id, day, model, provider, upstream_id, created_at, streamed, cancelled, finish_reason,
      prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, usage_counted, input_pico_usd, cached_input_pico_usd,
      output_pico_usd, cost_nano_usd, latency_ms, generation_time_ms
    )
    select
      id, organization_id, key_id, day, model, provider, upstream_id, to_timestamp(created_ms::double precision / 1000), streamed, cancelled, finish_reason,
      prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, usage_counted, input_price, cached_input_price,
      output_price, cost, latency_ms, generation_time_ms
    from given
    on conflict (id) do nothing
    returning g.id, g.organization_id, g.key_id, g.day, g.model, g.prompt_tokens, g.completion_tokens, g.cached_tokens, g.reasoning_tokens,
      g.cost_nano_usd as cost
  ), totals as (
    select organization_id, count(*) as entries, sum(cost)::bigint as cost from fresh group by organization_id
  ), account as (
    update accounts a
    set sequence = a.sequence + t.entries,
      balance_nano_usd = a.balance_nano_usd - t.cost,
      total_usage_nano_usd = a.total_usage_nano_usd + t.cost
    from totals t
    where a.organization_id = t.organization_id
    returning a.organization_id, a.sequence - t.entries as sequence_before, a.balance_nano_usd + t.cost as balance_before
  ), entry as (
    insert into ledger_entries (organization_id, sequence, kind, amount_nano_usd, balance_nano_usd, generation_id)
    select f.organization_id, a.sequence_before + row_number() over charges, 'charge', -f.cost,
      a.balance_before - (sum(f.cost) over charges)::bigint, f.id
    from fresh f join account a on a.organization_id = f.organization_id
    window charges as (partition by f.organization_id order by f.id rows unbounded preceding)
  ), organization_day as (
    insert into organization_daily_spend as d (organization_id, day, spent_nano_usd)
    select organization_id, day, sum(cost)::bigint from fresh group by organization_id, day
    on conflict (organization_id, day) do update set spent_nano_usd = d.spent_nano_usd + excluded.spent_nano_usd
  ), key_day as (
    insert into key_daily_spend as d (key_id, day, spent_nano_usd)
    select key_id, day, sum(cost)::bigint from fresh group by key_id, day
    on conflict (key_id, day) do update set spent_nano_usd = d.spent_nano_usd + excluded.spent_nano_usd
  ), usage as (
    insert into daily_usage as u (
      organization_id, day, key_id, model, requests, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_nano_usd
    )
    select organization_id, day, key_id, model, count(*), sum(prompt_tokens)::bigint, sum(completion_tokens)::bigint,
      sum(cached_tokens)::bigint, sum(reasoning_tokens)::bigint, sum(cost)::bigint
    from fresh group by organization_id, day, key_id, model
    on conflict (organization_id, day, key_id, model) do update set
      requests = u.requests + excluded.requests,
      prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = u.completion_tokens + excluded.completion_tokens,
      cached_tokens = u.cached_tokens + excluded.cached_tokens,
      reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
      cost_nano_usd = u.cost_nano_usd + excluded.cost_nano_usd
  )
  select count(*) into inserted from fresh;

  -- An id that was there before is a repetition, unless somebody else's request has it: then this one would go unpaid.
  if inserted < cardinality(ids) and exists (
    select from unnest(ids, organization_ids) as g (id, organization_id)
    join generations e on e.id = g.id
    where e.organization_id <> g.organization_id
  ) then
    raise exception 'a generation id belongs to another organization' using errcode = 'unique_violation';
  end if;

  return query
  select g.id, s.epoch, a.sequence, a.balance_nano_usd, coalesce(o.spent_nano_usd, 0), coalesce(k.spent_nano_usd, 0)
  from unnest(ids, organization_ids, key_ids, days) as g (id, organization_id, key_id, day)
  join accounts a on a.organization_id = g.organization_id
  left join organization_daily_spend o on o.organization_id = g.organization_id and o.day = g.day
  left join key_daily_spend k on k.key_id = g.key_id and k.day = g.day
  cross join ledger_state s;
end
$$;

-- An operator's entry; negative amounts correct. With a reference that was used before nothing is added: `applied` is false, and
-- `amount_nano_usd` is what that reference added then. No row: there is no such organization.
create function add_credit(organization text, amount bigint, entry_note text, entry_reference text, entry_actor text)
returns table (applied boolean, amount_nano_usd bigint, balance_nano_usd bigint) language plpgsql as $$
#variable_conflict use_column
declare
  account accounts;
  earlier bigint;
begin
  select * into account from accounts a where a.organization_id = organization for update;
  if not found then
    return;
  end if;
  select e.amount_nano_usd into earlier from ledger_entries e where e.organization_id = organization and e.reference = entry_reference;
  if found then
    return query select false, earlier, account.balance_nano_usd;
    return;
  end if;
  update accounts a
  set sequence = a.sequence + 1,
    balance_nano_usd = a.balance_nano_usd + amount,
    total_credits_nano_usd = a.total_credits_nano_usd + amount
  where a.organization_id = organization
  returning * into account;
  insert into ledger_entries (organization_id, sequence, kind, amount_nano_usd, balance_nano_usd, note, reference, actor)
  values (organization, account.sequence, 'credit', amount, account.balance_nano_usd, entry_note, entry_reference, entry_actor);
  return query select true, amount, account.balance_nano_usd;
end
$$;
