-- Writes a batch of uncharged attempts, each once: repeating one changes nothing. Also books the
-- costs of attempts that used tokens, and the operator's losses. Returns the number of new
-- attempts.
create or replace function record_provider_attempts(attempts provider_attempt[]) returns integer language plpgsql
security definer set search_path from current as $$
#variable_conflict use_column
declare
  written integer;
begin
  with added as (
    insert into uncharged_costs as u (generation_id, attempt, organization_id, model, provider, reason, cost_nano_usd)
    select a.generation_id, a.attempt, a.organization_id, a.model, a.provider, a.reason, a.cost_nano_usd
    from unnest(attempts) a where a.token_source is not null
    on conflict do nothing
    returning u.generation_id, u.attempt
  )
  insert into late_costs (generation_id, attempt)
  select generation_id, attempt from added where generation_id < id_floor('gen', now() - interval '5 hours');

  with fresh as (
    insert into provider_attempts as p (
      generation_id, attempt, organization_id, key_id, model, provider, provider_model, upstream_id, asked_at, result, reason, token_source,
      prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens
    )
    select generation_id, attempt, organization_id, key_id, model, provider, provider_model, upstream_id,
      to_timestamp(asked_ms::double precision / 1000), result, reason, token_source, coalesce(prompt_tokens, 0),
      coalesce(completion_tokens, 0), coalesce(cached_tokens, 0), coalesce(reasoning_tokens, 0)
    from unnest(attempts)
    on conflict do nothing
    returning p.generation_id, p.attempt
  ), lost as (
    insert into losses as l (generation_id, organization_id, reason, amount_nano_usd, model, provider)
    select a.generation_id, a.organization_id, a.loss_reason, sum(a.loss_nano_usd)::bigint, min(a.model), min(a.provider)
    from unnest(attempts) a join fresh f on f.generation_id = a.generation_id and f.attempt = a.attempt
    where a.loss_nano_usd > 0
    group by a.generation_id, a.organization_id, a.loss_reason
    -- An earlier attempt, at another target, may have caused a loss already.
    on conflict (generation_id, reason) do update set amount_nano_usd = l.amount_nano_usd + excluded.amount_nano_usd
  )
  select count(*) into written from fresh;
  return written;
end
$$;
revoke execute on function record_provider_attempts from public;
