-- A batch of charges for less. Most of what it cost was no work on rows: 22 arrays that were unnested side by side, checks whose texts PostgreSQL
-- reads anew for each statement, and a last statement that read what the sums before it had just written (docs/performance.md).

-- Settlements take this lock first, and lookups before any other of these tables: so none of them can wait for us while we wait for it.
-- Requests queue behind us meanwhile. Where a long reader is in the way, the migration fails, and is for another time.
set local lock_timeout = '2s';
lock table accounts in access exclusive mode;

-- One finished request, as the process that served it tells of it.
create type charge as (
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
  generation_time_ms bigint
);

-- What these rows may hold is said once for each batch, by charge_generations(), which alone writes them.
do $$
declare
  one record;
begin
  for one in
    select conrelid::regclass as owner, conname from pg_constraint
    where contype = 'c' and coninhcount = 0 and conrelid in (
      'generations'::regclass, 'daily_usage'::regclass, 'organization_daily_spend'::regclass, 'key_daily_spend'::regclass,
      'ledger_entries'::regclass, 'accounts'::regclass
    )
  loop
    execute format('alter table %s drop constraint %I', one.owner, one.conname);
  end loop;
end
$$;

-- Of the money itself what must hold whoever writes: one check for each table, because each is read for itself. Rows that are there met it
-- before, and are not read again under the lock. Lengths of notes are add_credit()'s to check.
alter table accounts add constraint accounts_check check (
  balance_nano_usd = total_credits_nano_usd - total_usage_nano_usd and total_usage_nano_usd >= 0 and sequence >= 0
) not valid;
alter table ledger_entries add constraint ledger_entries_check check (
  sequence > 0 and case kind
    when 'charge' then amount_nano_usd <= 0 and generation_id is not null and note is null and reference is null
    when 'credit' then amount_nano_usd <> 0 and generation_id is null and actor is not null
    else false
  end
) not valid;

-- Charges a batch of finished requests, each exactly once, under the row locks of their accounts. Returns how these accounts stand, also
-- those of requests that were charged before: {"epoch": …, "accounts": [[key, day, sequence, balance, spent that day by organization, by key]]}.
create function charge_generations(charges charge[]) returns json language plpgsql as $$
#variable_conflict use_column
declare
  keys_are_theirs boolean;
  refused text;
  charged bigint;
  result json;
begin
  -- In organization order, so that two batches can never wait for each other. Everything below that is keyed by organization or by one of
  -- its keys changes only under this lock; the statements after it see all that was committed before.
  perform from accounts a where a.organization_id = any (array(select g.organization_id from unnest(charges) g))
    order by a.organization_id for update;

  select count(k.id) = count(*), case
    when not bool_and(octet_length(g.id) = 30 and g.id >= 'gen-0' and g.id < 'gen-8') then 'its id'
    when not bool_and(
      length(g.model) between 1 and 500 and length(g.provider) between 1 and 500 and coalesce(length(g.upstream_id), 0) <= 200
      and coalesce(length(g.finish_reason), 0) <= 100
    ) then 'its texts'
    when not bool_and(
      g.prompt_tokens >= 0 and g.completion_tokens >= 0 and g.cached_tokens between 0 and g.prompt_tokens
      and g.reasoning_tokens between 0 and g.completion_tokens
    ) then 'its tokens'
    when not bool_and(
      g.input_pico_usd >= 0 and g.cached_input_pico_usd >= 0 and g.output_pico_usd >= 0
      and g.cost_nano_usd between 0 and 1000000000000000000
    ) then 'its prices or cost'
    when not bool_and(g.latency_ms >= 0 and g.generation_time_ms >= 0) then 'its times'
  end
  into keys_are_theirs, refused
  from unnest(charges) g left join keys k on k.id = g.key_id and k.organization_id = g.organization_id;

  if not keys_are_theirs then
    raise exception 'a settlement names a key that is not of its organization' using errcode = 'foreign_key_violation';
  end if;
  if refused is not null then
    raise exception 'a check of generations refuses a settlement for %', refused using errcode = 'check_violation';
  end if;

  with fresh as (
    insert into generations as g (
      id, organization_id, key_id, day, model, provider, upstream_id, created_at, streamed, cancelled, finish_reason,
      prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, usage_counted, input_pico_usd, cached_input_pico_usd,
      output_pico_usd, cost_nano_usd, latency_ms, generation_time_ms
    )
    select
      id, organization_id, key_id, day, model, provider, upstream_id, to_timestamp(created_ms::double precision / 1000), streamed, cancelled,
      finish_reason, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, usage_counted, input_pico_usd, cached_input_pico_usd,
      output_pico_usd, cost_nano_usd, latency_ms, generation_time_ms
    from unnest(charges)
    on conflict do nothing
    returning g.id, g.organization_id, g.key_id, g.day, g.model, g.prompt_tokens, g.completion_tokens, g.cached_tokens, g.reasoning_tokens,
      g.cost_nano_usd as cost
  ), used as materialized (
    select organization_id, day, key_id, model, count(*) as requests, sum(prompt_tokens)::bigint as prompt,
      sum(completion_tokens)::bigint as completion, sum(cached_tokens)::bigint as cached, sum(reasoning_tokens)::bigint as reasoning,
      sum(cost)::bigint as cost
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
      organization_id, day, key_id, model, requests, prompt_tokens, completion_tokens, cached_tokens, reasoning_tokens, cost_nano_usd
    )
    select organization_id, day, key_id, model, requests, prompt, completion, cached, reasoning, cost from used
    on conflict (organization_id, day, key_id, model) do update set
      requests = u.requests + excluded.requests,
      prompt_tokens = u.prompt_tokens + excluded.prompt_tokens,
      completion_tokens = u.completion_tokens + excluded.completion_tokens,
      cached_tokens = u.cached_tokens + excluded.cached_tokens,
      reasoning_tokens = u.reasoning_tokens + excluded.reasoning_tokens,
      cost_nano_usd = u.cost_nano_usd + excluded.cost_nano_usd
  )
  select sum(u.requests), json_build_object('epoch', (select s.epoch from ledger_state s), 'accounts', json_agg(json_build_array(
    u.key_id, u.day - date '1970-01-01', a.sequence, a.balance_nano_usd::text, o.spent_nano_usd::text, k.spent_nano_usd::text)))
  into charged, result
  from used u
  join account a on a.organization_id = u.organization_id
  join organization_day o on o.organization_id = u.organization_id and o.day = u.day
  join key_day k on k.key_id = u.key_id and k.day = u.day;

  if charged = cardinality(charges) then
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
      coalesce(k.spent_nano_usd, 0)::text)))
    from (select distinct organization_id, key_id, day from unnest(charges)) g
    join accounts a on a.organization_id = g.organization_id
    left join organization_daily_spend o on o.organization_id = g.organization_id and o.day = g.day
    left join key_daily_spend k on k.key_id = g.key_id and k.day = g.day
  );
end
$$;

-- For processes of the release before.
create or replace function settle_generations(
  ids text[], organization_ids text[], key_ids text[], days date[], models text[], providers text[], upstream_ids text[],
  created_ms bigint[], streamed_flags boolean[], cancelled_flags boolean[], finish_reasons text[],
  prompt bigint[], completion bigint[], cached bigint[], reasoning bigint[], counted_flags boolean[],
  input_prices bigint[], cached_input_prices bigint[], output_prices bigint[], costs bigint[],
  latencies_ms bigint[], generation_times_ms bigint[]
) returns table (
  generation_id text, epoch uuid, sequence bigint, balance_nano_usd bigint, organization_spent_nano_usd bigint, key_spent_nano_usd bigint
) language plpgsql as $$
#variable_conflict use_column
begin
  perform charge_generations(array(
    select g::charge from (
      select * from unnest(
        ids, organization_ids, key_ids, days, models, providers, upstream_ids, created_ms, streamed_flags, cancelled_flags, finish_reasons,
        prompt, completion, cached, reasoning, counted_flags, input_prices, cached_input_prices, output_prices, costs, latencies_ms,
        generation_times_ms
      )
    ) g
  ));
  return query
  select g.id, s.epoch, a.sequence, a.balance_nano_usd, coalesce(o.spent_nano_usd, 0), coalesce(k.spent_nano_usd, 0)
  from unnest(ids, organization_ids, key_ids, days) as g (id, organization_id, key_id, day)
  join accounts a on a.organization_id = g.organization_id
  left join organization_daily_spend o on o.organization_id = g.organization_id and o.day = g.day
  left join key_daily_spend k on k.key_id = g.key_id and k.day = g.day
  cross join ledger_state s;
end
$$;

-- As in 0003_money_functions.sql, with the lengths that the table checked.
create or replace function add_credit(organization text, amount bigint, entry_note text, entry_reference text, entry_actor text)
returns table (applied boolean, amount_nano_usd bigint, balance_nano_usd bigint) language plpgsql as $$
#variable_conflict use_column
declare
  account accounts;
  earlier bigint;
begin
  if length(entry_note) not between 1 and 500 or length(entry_reference) not between 1 and 200 or length(entry_actor) not between 1 and 200 then
    raise exception 'a note, a reference or an actor is empty or too long' using errcode = 'check_violation';
  end if;
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

do $$
declare
  one regprocedure;
begin
  for one in
    select p.oid from pg_proc p
    where p.pronamespace = current_schema()::regnamespace and p.proname in ('charge_generations', 'settle_generations', 'add_credit')
  loop
    execute format('alter function %s security definer set search_path = %I, pg_temp', one, current_schema());
    execute format('revoke execute on function %s from public', one);
  end loop;
end
$$;
