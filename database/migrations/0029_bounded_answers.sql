-- The answers that are stored for Idempotency-Keys are bounded for each organization: the oldest give way, and their keys stay taken for other
-- bodies. Requests queue behind us meanwhile. Where a long reader is in the way, the migration fails, and is for another time.
-- Serves code from version 23 on.
set local lock_timeout = '2s';

alter table idempotency_keys
  -- Size of the answer, as it is summed below. 0: it has given way, or was larger than the bound. Null: there is none, or the release before stored
  -- it, and it is not counted yet.
  add column answer_bytes bigint,
  drop constraint idempotency_keys_check,
  add constraint idempotency_keys_answer_check check (finished_at is not null or answer is null) not valid;

-- The oldest of an organization, and those that are not counted yet.
create index idempotency_keys_stored on idempotency_keys (organization_id, finished_at) where answer_bytes > 0;
create index idempotency_keys_uncounted on idempotency_keys (finished_at) where answer is not null and coalesce(answer_bytes, 0) = 0;

-- The sum of answer_bytes of each organization, but for the changes below. It is locked after every row of idempotency_keys and of accounts
-- that a transaction locks, in the order of organizations; whoever has it waits for nothing but the next of them. Updated in place.
create table stored_answers (
  organization_id text collate "C" primary key,
  bytes bigint not null,
  -- About all that is older has given way: the walk to the oldest need not pass index entries that nobody has removed yet. Null: not known.
  oldest_at timestamptz
) with (fillfactor = 50);

-- Bytes that were deleted, or taken by another attempt, at the retention. Rows of their own, because that waits for no charge.
create table stored_answer_changes (
  organization_id text collate "C" not null,
  bytes bigint not null
);

create function note_answer_gone() returns trigger language plpgsql as $$
begin
  insert into stored_answer_changes (organization_id, bytes) values (old.organization_id, -old.answer_bytes);
  return null;
end
$$;
create trigger answer_deleted after delete on idempotency_keys for each row when (old.answer_bytes > 0) execute function note_answer_gone();
create trigger answer_replaced after update of answer_bytes on idempotency_keys for each row
  when (old.answer_bytes > 0 and new.answer_bytes is null) execute function note_answer_gone();

-- As in 0021_charged_elsewhere.sql, but a key whose answer has given way is free for the same body; and who cannot read answers that are sealed
-- in segments (sealed-answer.ts) is told that the attempt still runs, and asks again where somebody can.
create function claim_idempotency_key(
  organization text, key bytea, body bytea, generation text, lease_ms bigint, retention_ms bigint, leave_lapsed boolean, reads_segments boolean
) returns table (outcome text, generation_id text, answer_bytes bigint) language plpgsql as $$
#variable_conflict use_column
declare
  has_body bytea;
  has_generation text;
  has_finished timestamptz;
  has_bytes bigint;
  has_lapsed boolean;
  has_segments boolean;
begin
  -- A claim that a crash of the server forgets is claimed again, and only one of the attempts is charged: it need not wait for the disk.
  perform set_config('synchronous_commit', 'off', true);
  for tries in 1..5 loop
    insert into idempotency_keys as k (organization_id, key_hash, body_hash, generation_id, lease_until)
    values (organization, key, body, generation, clock_timestamp() + lease_ms * interval '1 millisecond')
    on conflict (organization_id, key_hash) do update
      set body_hash = excluded.body_hash, generation_id = excluded.generation_id, lease_until = excluded.lease_until,
        finished_at = null, answer = null, charged_at = null, answer_bytes = null
      where coalesce(k.finished_at, k.lease_until) < clock_timestamp() - retention_ms * interval '1 millisecond'
        or (k.finished_at is not null and k.answer is null and k.body_hash = excluded.body_hash)
        or (not leave_lapsed and k.finished_at is null and k.charged_at is null and k.body_hash = excluded.body_hash
          and lease_is_over(k.lease_until, lease_ms));
    if found then
      return query select 'claimed', generation, null::bigint;
      return;
    end if;
    select k.body_hash, k.generation_id, k.finished_at, octet_length(k.answer), k.charged_at is null and lease_is_over(k.lease_until, lease_ms),
        substring(k.answer for 8) = '\x004947575345470a'
      into has_body, has_generation, has_finished, has_bytes, has_lapsed, has_segments
      from idempotency_keys k where k.organization_id = organization and k.key_hash = key;
    -- Otherwise it became free in between.
    if found and (has_body <> body or has_finished is null or has_bytes is not null) then
      return query select case when has_body <> body then 'reused' when has_segments and not reads_segments then 'running'
        when has_finished is not null then 'finished' when has_lapsed and leave_lapsed then 'lapsed' else 'running' end, has_generation, has_bytes;
      return;
    end if;
  end loop;
  return query select 'running', null::text, null::bigint;
end
$$;

-- For processes of the release before.
create or replace function claim_idempotency_key(
  organization text, key bytea, body bytea, generation text, lease_ms bigint, retention_ms bigint, leave_lapsed boolean
) returns table (outcome text, generation_id text, answer_bytes bigint) language sql as $$
  select * from claim_idempotency_key(organization, key, body, generation, lease_ms, retention_ms, leave_lapsed, false)
$$;

-- Ends an attempt's claim with its answer, which is not stored where it alone is larger than the bound. A repeated one changes nothing, and one
-- whose row was deleted meanwhile had no rival. `mine`: no other attempt has the key. `stored`: how many bytes, to be counted.
create function keep_idempotent_answer(organization text, key bytea, body bytea, generation text, sealed bytea, bound bigint)
returns table (mine boolean, stored bigint) language plpgsql as $$
declare
  kept bytea := case when octet_length(sealed) <= bound then sealed end;
  kept_bytes bigint := coalesce(octet_length(kept), 0);
  owner text;
begin
  for tries in 1..5 loop
    update idempotency_keys k set finished_at = clock_timestamp(), answer = kept, answer_bytes = kept_bytes
      where k.organization_id = organization and k.key_hash = key and k.generation_id = generation and k.finished_at is null;
    if not found then
      insert into idempotency_keys (organization_id, key_hash, body_hash, generation_id, lease_until, finished_at, answer, answer_bytes)
      values (organization, key, body, generation, clock_timestamp(), clock_timestamp(), kept, kept_bytes)
      on conflict do nothing;
    end if;
    if found then
      return query select true, kept_bytes;
      return;
    end if;
    select k.generation_id into owner from idempotency_keys k where k.organization_id = organization and k.key_hash = key
      and (k.generation_id <> generation or k.finished_at is not null);
    if found then
      return query select owner = generation, 0::bigint;
      return;
    end if;
  end loop;
  raise exception 'the idempotency key of % changes all the time', generation using errcode = 'serialization_failure';
end
$$;

-- Takes the oldest answers of an organization away until the rest is within the bound, a thousand at most. The caller has locked its sum.
-- Rows that somebody has locked are passed over: whoever waited for them here could wait for us. They, and answers whose transaction took
-- longer than that of newer ones, are older than the last that gave way: hence the minute, and a second walk where the first finds too few.
create function evict_stored_answers(organization text, bound bigint) returns bigint language plpgsql as $$
declare
  above bigint;
  since timestamptz;
  freed bigint := 0;
  evicted bigint := 0;
  victim record;
  oldest cursor for
    select k.key_hash, k.answer_bytes, k.finished_at from idempotency_keys k
    where k.organization_id = organization and k.answer_bytes > 0 and k.finished_at >= coalesce(since, '-infinity')
    order by k.finished_at for update skip locked;
begin
  select s.bytes - bound, s.oldest_at into above, since from stored_answers s where s.organization_id = organization for update;
  if above is null or above <= 0 then
    return 0;
  end if;
  for walk in 1..2 loop
    open oldest;
    loop
      fetch oldest into victim;
      exit when not found;
      update idempotency_keys k set answer = null, answer_bytes = 0 where k.organization_id = organization and k.key_hash = victim.key_hash;
      freed := freed + victim.answer_bytes;
      evicted := evicted + 1;
      since := victim.finished_at - interval '1 minute';
      exit when freed >= above or evicted = 1000;
    end loop;
    close oldest;
    exit when freed >= above or evicted = 1000;
    since := null;
  end loop;
  update stored_answers s set bytes = s.bytes - freed, oldest_at = since where s.organization_id = organization;
  return evicted;
end
$$;

-- Adds to the sums of these organizations, and keeps each within the bound. Returns how many answers gave way.
create function count_stored_answers(organizations text[], sizes bigint[], bound bigint) returns bigint language plpgsql as $$
declare
  one record;
  held bigint;
  evicted bigint := 0;
begin
  for one in
    select c.organization_id, sum(c.bytes)::bigint as bytes from unnest(organizations, sizes) as c (organization_id, bytes)
    group by c.organization_id order by c.organization_id collate "C"
  loop
    insert into stored_answers as s (organization_id, bytes) values (one.organization_id, one.bytes)
      on conflict (organization_id) do update set bytes = s.bytes + excluded.bytes returning s.bytes into held;
    if held > bound then
      evicted := evicted + evict_stored_answers(one.organization_id, bound);
    end if;
  end loop;
  return evicted;
end
$$;

-- Charges attempts whose answers were stored in this transaction, and counts these under the locks of their accounts, which the charge has taken.
create function charge_stored_answers(charges held_charge[], organizations text[], sizes bigint[], bound bigint)
returns table (charged json, evicted bigint) language plpgsql as $$
begin
  charged := charge_generations(charges);
  evicted := count_stored_answers(organizations, sizes, bound);
  return next;
end
$$;

-- Tidies what no charge could: answers that the release before stored, answers that were deleted at the retention, and organizations that a
-- lower bound, locked rows or very many small answers left above it. `worked`: how many rows it changed; as long as it is `most`, there is more.
-- `bytes`: of all organizations.
create function tidy_stored_answers(bound bigint, most bigint) returns table (worked bigint, evicted bigint, bytes bigint) language plpgsql as $$
#variable_conflict use_column
declare
  counted record;
  gone record;
  one text;
begin
  with found as materialized (
    select k.organization_id, k.key_hash, octet_length(k.answer) as bytes from idempotency_keys k
    where k.answer is not null and coalesce(k.answer_bytes, 0) = 0 order by k.finished_at limit most for update skip locked
  ), done as (
    update idempotency_keys k set answer_bytes = f.bytes from found f
    where k.organization_id = f.organization_id and k.key_hash = f.key_hash returning k.organization_id, k.answer_bytes
  )
  select coalesce(array_agg(d.organization_id), '{}') as organizations, coalesce(array_agg(d.answer_bytes), '{}') as sizes into counted from done d;

  with done as (
    delete from stored_answer_changes where ctid = any (array(select c.ctid from stored_answer_changes c limit most for update skip locked))
    returning organization_id, bytes
  )
  select coalesce(array_agg(d.organization_id), '{}') as organizations, coalesce(array_agg(d.bytes), '{}') as sizes into gone from done d;

  perform count_stored_answers(counted.organizations || gone.organizations, counted.sizes || gone.sizes, 9223372036854775807);
  worked := greatest(cardinality(counted.organizations), cardinality(gone.organizations));
  evicted := 0;
  -- Out of the order of organizations now: nobody is waited for.
  for one in
    select s.organization_id from stored_answers s where s.bytes > bound order by s.organization_id limit 100 for update skip locked
  loop
    evicted := evicted + evict_stored_answers(one, bound);
    if evicted >= 1000 then
      worked := most;
      exit;
    end if;
  end loop;
  bytes := (select coalesce(sum(s.bytes), 0) from stored_answers s);
  return next;
end
$$;
