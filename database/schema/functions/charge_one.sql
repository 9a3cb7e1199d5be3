-- Charges one finished request with short statements for its own rows. For a batch of one, most of
-- the cost would be starting a statement that is written for many (docs/performance.md). In unusual
-- cases it returns null and changes nothing: an invalid or missing value, a charge above its hold
-- or balance, a foreign key, a repetition. charge_batch() then decides and reports the error. Only
-- its owner may call it. The result is like that of charge_batch().
create or replace function charge_one(one charge) returns json language plpgsql as $$
#variable_conflict use_column
declare
  sequence_after bigint;
  balance_after bigint;
  snapshot_sequence bigint;
  available_after bigint;
  organization_spent bigint;
  key_spent bigint;
  ledger_epoch uuid;
  has_month boolean;
  has_lifetime boolean;
begin
  if one.cost_nano_usd > one.hold_nano_usd or charge_flaw(one) is not null then
    return null;
  end if;

  -- Locks the account first, as charge_batch() does. Later statements see everything that was
  -- committed before.
  update accounts a
  set sequence = a.sequence + 1,
    balance_nano_usd = a.balance_nano_usd - one.cost_nano_usd,
    total_usage_nano_usd = a.total_usage_nano_usd + one.cost_nano_usd
  where a.organization_id = one.organization_id and a.balance_nano_usd >= one.cost_nano_usd
  returning a.sequence, a.balance_nano_usd, a.sequence + a.dead_letter_changes, a.balance_nano_usd - a.dead_letters_nano_usd
  into sequence_after, balance_after, snapshot_sequence, available_after;
  if not found then
    return null;
  end if;

  select s.epoch, k.monthly_budget_nano_usd is not null, k.lifetime_budget_nano_usd is not null
  into ledger_epoch, has_month, has_lifetime
  from keys k cross join ledger_state s
  where k.id = one.key_id and k.organization_id = one.organization_id;
  if found then
    insert into generations (
      id, organization_id, key_id, day, model, provider, upstream_id, created_at, streamed, cancelled, finish_reason,
      prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, usage_counted, input_pico_usd, cached_input_pico_usd,
      output_pico_usd, cost_nano_usd, first_event_ms, generation_time_ms, hold_nano_usd, provider_model, cache_write_tokens,
      cache_write_1h_tokens, cache_write_pico_usd, cache_write_1h_pico_usd, service_tier, priced_tier, priced_above_tokens, api
    ) values (
      one.id, one.organization_id, one.key_id, one.day, one.model, one.provider, one.upstream_id,
      to_timestamp(one.created_ms::double precision / 1000), one.streamed, one.cancelled, one.finish_reason,
      one.prompt_tokens, one.completion_tokens, one.cached_tokens, one.reasoning_tokens, one.usage_counted, one.input_pico_usd,
      one.cached_input_pico_usd, one.output_pico_usd, one.cost_nano_usd, one.first_event_ms, one.generation_time_ms, one.hold_nano_usd,
      one.provider_model, one.cache_write_tokens, one.cache_write_1h_tokens, one.cache_write_pico_usd, one.cache_write_1h_pico_usd,
      one.service_tier, one.priced_tier, one.priced_above_tokens, coalesce(one.api, 'chat')
    ) on conflict do nothing;
  end if;
  if not found then
    -- A repetition or a foreign key: restores the account.
    update accounts a
    set sequence = a.sequence - 1,
      balance_nano_usd = a.balance_nano_usd + one.cost_nano_usd,
      total_usage_nano_usd = a.total_usage_nano_usd - one.cost_nano_usd
    where a.organization_id = one.organization_id;
    return null;
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
      one.key_id, one.day - date '1970-01-01', snapshot_sequence, available_after::text, organization_spent::text, key_spent::text,
      case when has_month then key_month_spend(one.key_id, one.day)::text end,
      case when has_lifetime then key_lifetime_spend(one.key_id)::text end)), 'losses', null);
  end if;
  return json_build_object('epoch', ledger_epoch, 'accounts', json_build_array(json_build_array(
    one.key_id, one.day - date '1970-01-01', snapshot_sequence, available_after::text, organization_spent::text, key_spent::text)));
end
$$;
revoke execute on function charge_one from public;
