-- A batch of one charge for less. Most of what it cost was starting a statement that is written for many (docs/performance.md).
-- Serves code from version 23 on.
set local lock_timeout = '2s';

-- Charges a batch of any size: charge_generations(priced_charge[]) of 0039_key_budgets.sql under another name. Only its owner may call it; that
-- function does, with its rights and its search path.
do $$
begin
  execute format(
    'create function charge_batch(charges priced_charge[]) returns json language plpgsql as %L',
    (select p.prosrc from pg_proc p where p.oid = 'charge_generations(priced_charge[])'::regprocedure)
  );
end
$$;
revoke execute on function charge_batch(priced_charge[]) from public;

-- As in 0039_key_budgets.sql. A charge that is alone takes short statements for its own rows. What is not the usual case is left to
-- charge_batch(), which decides it and says what is wrong: a value that is refused or missing, a charge above its hold or its balance, a foreign
-- key, a repetition. Replaced in place, so that nobody lacks the right to it meanwhile.
create or replace function charge_generations(charges priced_charge[]) returns json language plpgsql as $$
#variable_conflict use_column
declare
  one priced_charge;
  sequence_after bigint;
  balance_after bigint;
  organization_spent bigint;
  key_spent bigint;
  ledger_epoch uuid;
  has_month boolean;
  has_lifetime boolean;
begin
  if cardinality(charges) <> 1 then
    return charge_batch(charges);
  end if;
  one := charges[1];
  -- Null where a value is missing: no usual case either. The texts are those of charge_batch().
  if (
    octet_length(one.id) = 30 and one.id >= 'gen-0' and one.id < 'gen-8'
    and length(one.model) between 1 and 500 and length(one.provider) between 1 and 500 and coalesce(length(one.upstream_id), 0) <= 200
    and coalesce(length(one.finish_reason), 0) <= 100
    and coalesce(length(one.provider_model), 1) between 1 and 500
    and coalesce(length(one.service_tier), 0) <= 64 and coalesce(length(one.priced_tier), 1) between 1 and 64
    and one.prompt_tokens >= 0 and one.completion_tokens >= 0 and one.cached_tokens between 0 and one.prompt_tokens
    and one.cache_write_tokens between 0 and one.prompt_tokens - one.cached_tokens
    and one.cache_write_1h_tokens between 0 and one.cache_write_tokens
    and one.reasoning_tokens between 0 and one.completion_tokens
    and one.input_pico_usd >= 0 and one.cached_input_pico_usd >= 0 and one.output_pico_usd >= 0
    and one.cache_write_pico_usd >= 0 and one.cache_write_1h_pico_usd >= 0 and coalesce(one.priced_above_tokens, 1) > 0
    and one.cost_nano_usd between 0 and least(one.hold_nano_usd, 1000000000000000000)
    and one.latency_ms >= 0 and one.generation_time_ms >= 0
  ) is not true then
    return charge_batch(charges);
  end if;

  -- As charge_batch() begins, for the same reason.
  if current_setting('synchronous_commit') in ('off', 'local') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  -- Locks the account first, as charge_batch() does: the statements after it see all that was committed before.
  update accounts a
  set sequence = a.sequence + 1,
    balance_nano_usd = a.balance_nano_usd - one.cost_nano_usd,
    total_usage_nano_usd = a.total_usage_nano_usd + one.cost_nano_usd
  where a.organization_id = one.organization_id and a.balance_nano_usd >= one.cost_nano_usd
  returning a.sequence, a.balance_nano_usd into sequence_after, balance_after;
  if not found then
    return charge_batch(charges);
  end if;

  select s.epoch, k.monthly_budget_nano_usd is not null, k.lifetime_budget_nano_usd is not null
  into ledger_epoch, has_month, has_lifetime
  from keys k cross join ledger_state s
  where k.id = one.key_id and k.organization_id = one.organization_id;
  if found then
    insert into generations (
      id, organization_id, key_id, day, model, provider, upstream_id, created_at, streamed, cancelled, finish_reason,
      prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, usage_counted, input_pico_usd, cached_input_pico_usd,
      output_pico_usd, cost_nano_usd, latency_ms, generation_time_ms, hold_nano_usd, provider_model, cache_write_tokens,
      cache_write_1h_tokens, cache_write_pico_usd, cache_write_1h_pico_usd, service_tier, priced_tier, priced_above_tokens
    ) values (
      one.id, one.organization_id, one.key_id, one.day, one.model, one.provider, one.upstream_id,
      to_timestamp(one.created_ms::double precision / 1000), one.streamed, one.cancelled, one.finish_reason,
      one.prompt_tokens, one.completion_tokens, one.cached_tokens, one.reasoning_tokens, one.usage_counted, one.input_pico_usd,
      one.cached_input_pico_usd, one.output_pico_usd, one.cost_nano_usd, one.latency_ms, one.generation_time_ms, one.hold_nano_usd,
      one.provider_model, one.cache_write_tokens, one.cache_write_1h_tokens, one.cache_write_pico_usd, one.cache_write_1h_pico_usd,
      one.service_tier, one.priced_tier, one.priced_above_tokens
    ) on conflict do nothing;
  end if;
  if not found then
    -- A repetition, or a foreign key: the account is again as it was.
    update accounts a
    set sequence = a.sequence - 1,
      balance_nano_usd = a.balance_nano_usd + one.cost_nano_usd,
      total_usage_nano_usd = a.total_usage_nano_usd - one.cost_nano_usd
    where a.organization_id = one.organization_id;
    return charge_batch(charges);
  end if;

  insert into ledger_entries (organization_id, sequence, kind, amount_nano_usd, balance_nano_usd, generation_id)
  values (one.organization_id, sequence_after, 'charge', -one.cost_nano_usd, balance_after, one.id);
  insert into organization_daily_spend as d (organization_id, day, spent_nano_usd)
  values (one.organization_id, one.day, one.cost_nano_usd)
  on conflict (organization_id, day) do update set spent_nano_usd = d.spent_nano_usd + excluded.spent_nano_usd
  returning d.spent_nano_usd into organization_spent;
  insert into key_daily_spend as d (key_id, day, spent_nano_usd)
  values (one.key_id, one.day, one.cost_nano_usd)
  on conflict (key_id, day) do update set spent_nano_usd = d.spent_nano_usd + excluded.spent_nano_usd
  returning d.spent_nano_usd into key_spent;
  insert into daily_usage as u (
    organization_id, day, key_id, model, requests, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cache_write_tokens,
    cache_write_1h_tokens, cost_nano_usd
  ) values (
    one.organization_id, one.day, one.key_id, one.model, 1, one.prompt_tokens, one.completion_tokens, one.cached_tokens, one.reasoning_tokens,
    one.cache_write_tokens, one.cache_write_1h_tokens, one.cost_nano_usd
  ) on conflict (organization_id, day, key_id, model) do update set
    requests = u.requests + excluded.requests,
    prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = u.completion_tokens + excluded.completion_tokens,
    cached_tokens = u.cached_tokens + excluded.cached_tokens,
    reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
    cache_write_tokens = u.cache_write_tokens + excluded.cache_write_tokens,
    cache_write_1h_tokens = u.cache_write_1h_tokens + excluded.cache_write_1h_tokens,
    cost_nano_usd = u.cost_nano_usd + excluded.cost_nano_usd;

  if has_month or has_lifetime then
    return json_build_object('epoch', ledger_epoch, 'accounts', json_build_array(json_build_array(
      one.key_id, one.day - date '1970-01-01', sequence_after, balance_after::text, organization_spent::text, key_spent::text,
      case when has_month then key_month_spend(one.key_id, one.day)::text end,
      case when has_lifetime then key_lifetime_spend(one.key_id)::text end)), 'losses', null);
  end if;
  return json_build_object('epoch', ledger_epoch, 'accounts', json_build_array(json_build_array(
    one.key_id, one.day - date '1970-01-01', sequence_after, balance_after::text, organization_spent::text, key_spent::text)));
end
$$;

-- `create or replace` has taken both away.
do $$
begin
  execute format('alter function charge_generations(priced_charge[]) security definer set search_path = %I, pg_temp', current_schema());
end
$$;
