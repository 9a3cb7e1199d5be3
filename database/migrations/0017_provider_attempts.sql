-- What providers were asked and nobody was charged for, so that a provider's bill can be explained to the token. Written in batches beside the
-- requests, as the request log is, and kept for as long. An attempt that was charged is its generation, and has no row here.
--
-- Serves code from version 15 on.

create table provider_attempts (
  generation_id text collate "C" not null,
  -- Of the attempts of this generation, from 1; 0: of a charge from the spool, which does not know it.
  attempt smallint not null,
  organization_id text collate "C" not null,
  key_id text collate "C" not null,
  model text collate "C" not null,
  provider text collate "C" not null,
  -- The provider's name for the model.
  provider_model text collate "C" not null,
  upstream_id text,
  asked_at timestamptz not null,
  -- `ok`, or why it failed.
  result text not null,
  -- Why nobody was charged.
  reason text not null,
  -- reported (by the provider), counted (by the tokenizer), estimated (from the length of the text). Null: nothing is known, or nothing was sent.
  token_source text,
  prompt_tokens bigint not null,
  completion_tokens bigint not null,
  cached_tokens bigint not null,
  reasoning_tokens bigint not null,
  primary key (generation_id, attempt)
) partition by range (generation_id);
create table provider_attempts_other partition of provider_attempts default;

-- One attempt, as the process that made it tells of it.
create type provider_attempt as (
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
  loss_nano_usd bigint
);

-- Writes a batch, each attempt once: one that is there already changes nothing. What is a loss of the operator is booked with it. Returns how
-- many are new.
create function record_provider_attempts(attempts provider_attempt[]) returns integer language plpgsql as $$
#variable_conflict use_column
declare
  written integer;
begin
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
    -- Of an attempt before it, at another target.
    on conflict (generation_id, reason) do update set amount_nano_usd = l.amount_nano_usd + excluded.amount_nano_usd
  )
  select count(*) into written from fresh;
  return written;
end
$$;

-- Everything that providers were asked, whether it was charged or not: what a provider's bill is compared with. `reason` is null for what was
-- charged. What was thought to be lost and was charged after all is there once.
create view provider_calls as
  select g.id as generation_id, null::smallint as attempt, g.organization_id, g.key_id, g.model, g.provider,
    -- Generations of the release before do not know the provider's name for the model.
    coalesce(g.provider_model, g.model) as provider_model, g.upstream_id, g.created_at as asked_at, 'ok' as result, null as reason,
    case when g.usage_counted then 'counted' else 'reported' end as token_source,
    g.prompt_tokens, g.completion_tokens, g.cached_tokens, g.reasoning_tokens
  from generations g
  union all
  select a.generation_id, a.attempt, a.organization_id, a.key_id, a.model, a.provider, a.provider_model, a.upstream_id, a.asked_at, a.result,
    a.reason, a.token_source, a.prompt_tokens, a.completion_tokens, a.cached_tokens, a.reasoning_tokens
  from provider_attempts a
  where a.reason not in ('not_charged', 'crash') or not exists (select from generations g where g.id = a.generation_id);

-- As make_request_log_day() and drop_request_log_day() of 0012_rights.sql.
create function make_provider_attempts_day(day date) returns void language plpgsql set lock_timeout = '200ms' as $$
begin
  if abs(day - (now() at time zone 'UTC')::date) > 400 then
    raise exception '% is no day of about now', day using errcode = 'invalid_parameter_value';
  end if;
  execute format(
    'create table if not exists %I partition of provider_attempts for values from (%L) to (%L)',
    'provider_attempts_' || to_char(day, 'YYYY_MM_DD'),
    id_floor('gen', day::timestamp at time zone 'UTC'),
    id_floor('gen', (day + 1)::timestamp at time zone 'UTC')
  );
end
$$;

create function drop_provider_attempts_day(day date) returns void language plpgsql set lock_timeout = '200ms' as $$
begin
  if day >= (now() at time zone 'UTC')::date - 1 then
    raise exception 'attempts of % are not old enough to be dropped', day using errcode = 'invalid_parameter_value';
  end if;
  execute format('drop table if exists %I', 'provider_attempts_' || to_char(day, 'YYYY_MM_DD'));
end
$$;

do $$
declare
  one regprocedure;
begin
  for one in
    select p.oid from pg_proc p
    where p.pronamespace = current_schema()::regnamespace
      and p.proname in ('record_provider_attempts', 'make_provider_attempts_day', 'drop_provider_attempts_day')
  loop
    execute format('alter function %s security definer set search_path = %I, pg_temp', one, current_schema());
    execute format('revoke execute on function %s from public', one);
  end loop;
end
$$;
