-- What providers are paid: the cost of each generation and of each uncharged attempt, by the costs that the target had when it was asked.
-- Serves code from version 23 on.
set local lock_timeout = '2s';

-- A table of its own, so that charges of targets without costs take nothing more. Kept as long as generations.
create table generation_costs (
  generation_id text collate "C" primary key,
  cost_nano_usd bigint not null check (cost_nano_usd >= 0)
);

-- Attempts that used tokens and were not charged. `provider_attempts` is dropped with the request log; a report of costs must not change then.
create table uncharged_costs (
  generation_id text collate "C" not null,
  -- As in provider_attempts.
  attempt smallint not null,
  organization_id text collate "C" not null,
  model text collate "C" not null,
  provider text collate "C" not null,
  reason text not null,
  -- Null: the target had no costs.
  cost_nano_usd bigint check (cost_nano_usd >= 0),
  primary key (generation_id, attempt)
);

-- Costs of charges, in their order: null where the target had none. A repetition of a charge changes nothing.
create function charge_generations(charges priced_charge[], users text[], costs bigint[]) returns json language plpgsql as $$
declare
  result json;
begin
  result := case when users is null then charge_generations(charges) else charge_generations(charges, users) end;
  insert into generation_costs (generation_id, cost_nano_usd)
  select (charges[c.at]).id, c.cost from unnest(costs) with ordinality c (cost, at) where c.cost is not null
  on conflict do nothing;
  return result;
end
$$;

create function charge_stored_answers(
  charges priced_charge[], users text[], costs bigint[], organizations text[], sizes bigint[], bound bigint
) returns table (charged json, evicted bigint) language plpgsql as $$
begin
  charged := charge_generations(charges, users, costs);
  evicted := count_stored_answers(organizations, sizes, bound);
  return next;
end
$$;

-- `provider_attempt` of 0017_provider_attempts.sql with its cost.
create type costed_attempt as (
  generation_id text collate "C",
  attempt smallint,
  organization_id text collate "C",
  key_id text collate "C",
  model text,
  provider text,
  provider_model text,
  upstream_id text,
  asked_ms bigint,
  result text,
  reason text,
  token_source text,
  prompt_tokens bigint,
  completion_tokens bigint,
  cached_tokens bigint,
  reasoning_tokens bigint,
  loss_reason text,
  loss_nano_usd bigint,
  cost_nano_usd bigint
);

-- As record_provider_attempts(provider_attempt[]), with the costs of attempts that used tokens.
create function record_provider_attempts(attempts costed_attempt[]) returns integer language plpgsql as $$
begin
  insert into uncharged_costs (generation_id, attempt, organization_id, model, provider, reason, cost_nano_usd)
  select a.generation_id, a.attempt, a.organization_id, a.model, a.provider, a.reason, a.cost_nano_usd
  from unnest(attempts) a where a.token_source is not null
  on conflict do nothing;
  return record_provider_attempts(array(
    select row(
      a.generation_id, a.attempt, a.organization_id, a.key_id, a.model, a.provider, a.provider_model, a.upstream_id, a.asked_ms, a.result, a.reason,
      a.token_source, a.prompt_tokens, a.completion_tokens, a.cached_tokens, a.reasoning_tokens, a.loss_reason, a.loss_nano_usd
    )::provider_attempt
    from unnest(attempts) a
  ));
end
$$;

do $$
declare
  one regprocedure;
begin
  for one in
    select p.oid from pg_proc p
    where p.pronamespace = current_schema()::regnamespace and p.proname in ('charge_generations', 'record_provider_attempts')
  loop
    execute format('alter function %s security definer set search_path = %I, pg_temp', one, current_schema());
    execute format('revoke execute on function %s from public', one);
  end loop;
end
$$;
