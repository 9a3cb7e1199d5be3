-- Idempotency-Key: one row for each key that an attempt works on, or whose answer is replayed. Neither the key nor anything of the request
-- can be read here: the first is hashed, the body is a keyed hash, the answer is encrypted under both (sealed-answer.ts).
create table idempotency_keys (
  organization_id text collate "C" not null,
  key_hash bytea not null check (octet_length(key_hash) = 32),
  body_hash bytea not null check (octet_length(body_hash) = 32),
  -- The attempt that has the key, which makes it the fencing token: every attempt has a generation id of its own.
  generation_id text collate "C" not null,
  -- After it the attempt's process counts as dead.
  lease_until timestamptz not null,
  finished_at timestamptz,
  answer bytea,
  primary key (organization_id, key_hash),
  check ((finished_at is null) = (answer is null))
);
-- Encrypted bytes do not compress, and are read and written whole.
alter table idempotency_keys alter column answer set storage external;
create index idempotency_keys_by_age on idempotency_keys (coalesce(finished_at, lease_until));

-- A lease lapses at its time, but not before everybody could renew it after a restart of the server.
create function lease_is_over(lease_until timestamptz, lease_ms bigint) returns boolean language sql stable as $$
  select clock_timestamp() > greatest(lease_until, pg_postmaster_start_time() + lease_ms * interval '1 millisecond')
$$;

-- Takes the key for an attempt where it is free: unknown, older than the retention, or of a dead attempt with the same body. Otherwise says
-- who has it: 'reused' (with another body), 'running', or 'finished' with the size of the answer.
create function claim_idempotency_key(
  organization text, key bytea, body bytea, generation text, lease_ms bigint, retention_ms bigint
) returns table (outcome text, generation_id text, answer_bytes bigint) language plpgsql as $$
#variable_conflict use_column
declare
  has_body bytea;
  has_generation text;
  has_finished timestamptz;
  has_bytes bigint;
begin
  -- A claim that a crash of the server forgets is claimed again, and only one of the attempts is charged: it need not wait for the disk.
  perform set_config('synchronous_commit', 'off', true);
  for tries in 1..5 loop
    insert into idempotency_keys as k (organization_id, key_hash, body_hash, generation_id, lease_until)
    values (organization, key, body, generation, clock_timestamp() + lease_ms * interval '1 millisecond')
    on conflict (organization_id, key_hash) do update
      set body_hash = excluded.body_hash, generation_id = excluded.generation_id, lease_until = excluded.lease_until,
        finished_at = null, answer = null
      where coalesce(k.finished_at, k.lease_until) < clock_timestamp() - retention_ms * interval '1 millisecond'
        or (k.finished_at is null and k.body_hash = excluded.body_hash and lease_is_over(k.lease_until, lease_ms));
    if found then
      return query select 'claimed', generation, null::bigint;
      return;
    end if;
    select k.body_hash, k.generation_id, k.finished_at, octet_length(k.answer)
      into has_body, has_generation, has_finished, has_bytes
      from idempotency_keys k where k.organization_id = organization and k.key_hash = key;
    -- Otherwise it became free in between.
    if found then
      return query select case when has_body <> body then 'reused' when has_finished is null then 'running' else 'finished' end,
        has_generation, has_bytes;
      return;
    end if;
  end loop;
  return query select 'running', null::text, null::bigint;
end
$$;

-- Extends the leases of attempts that are still alive. What another attempt has taken over stays with that one.
create function renew_idempotency_keys(organizations text[], keys bytea[], generations text[], lease_ms bigint) returns bigint language plpgsql as $$
#variable_conflict use_column
declare
  renewed bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  -- Rows that are locked are ending just now; waiting for them could only end in a deadlock.
  with live as materialized (
    select k.organization_id, k.key_hash
    from unnest(organizations, keys, generations) as g (organization_id, key_hash, generation_id)
    join idempotency_keys k on k.organization_id = g.organization_id and k.key_hash = g.key_hash and k.generation_id = g.generation_id
    where k.finished_at is null
    for update of k skip locked
  )
  update idempotency_keys k set lease_until = clock_timestamp() + lease_ms * interval '1 millisecond'
  from live where k.organization_id = live.organization_id and k.key_hash = live.key_hash;
  get diagnostics renewed = row_count;
  return renewed;
end
$$;

-- Charges that the ledger refused for what they are. Nothing was charged; an operator corrects by hand.
create table dead_letters (
  generation_id text collate "C" primary key,
  organization_id text collate "C" not null,
  reason text not null,
  -- The settlement as JSON, without any answer.
  settlement text not null,
  created_at timestamptz not null default now()
);
