-- Claims a key for a request if it is free: unknown, past the retention, claimed by a dead request
-- with the same body, or with an evicted response for the same body. Otherwise the reply names its
-- owner: 'reused' (with another body), 'running', 'finished' with the size of the response, or
-- `expired` for a dead request if `leave_expired` is set. A request that was charged does not count
-- as dead.
create or replace function claim_idempotency_key(
  organization text, key bytea, body bytea, generation text, lease_ms bigint, retention_ms bigint, leave_expired boolean
) returns table (outcome text, generation_id text, response_bytes bigint) language plpgsql as $$
#variable_conflict use_column
declare
  has_body bytea;
  has_generation text;
  has_finished timestamptz;
  has_bytes bigint;
  has_expired boolean;
begin
  -- Need not wait for the disk. If a crash of the server loses a claim, the key is claimed again,
  -- and only one of the requests is charged.
  perform set_config('synchronous_commit', 'off', true);
  for tries in 1..5 loop
    insert into idempotency_keys as k (organization_id, key_hash, body_hash, generation_id, lease_until)
    values (organization, key, body, generation, clock_timestamp() + lease_ms * interval '1 millisecond')
    on conflict (organization_id, key_hash) do update
      set body_hash = excluded.body_hash, generation_id = excluded.generation_id, lease_until = excluded.lease_until,
        finished_at = null, response = null, charged_at = null, response_bytes = null
      where coalesce(k.finished_at, k.lease_until) < clock_timestamp() - retention_ms * interval '1 millisecond'
        or (k.finished_at is not null and k.response is null and k.body_hash = excluded.body_hash)
        or (not leave_expired and k.finished_at is null and k.charged_at is null and k.body_hash = excluded.body_hash
          and lease_is_over(k.lease_until, lease_ms));
    if found then
      return query select 'claimed', generation, null::bigint;
      return;
    end if;
    select k.body_hash, k.generation_id, k.finished_at, octet_length(k.response), k.charged_at is null and lease_is_over(k.lease_until, lease_ms)
      into has_body, has_generation, has_finished, has_bytes, has_expired
      from idempotency_keys k where k.organization_id = organization and k.key_hash = key;
    -- Otherwise the key became free meanwhile, so the loop tries again.
    if found and (has_body <> body or has_finished is null or has_bytes is not null) then
      return query select case when has_body <> body then 'reused' when has_finished is not null then 'finished'
        when has_expired and leave_expired then 'expired' else 'running' end, has_generation, has_bytes;
      return;
    end if;
  end loop;
  return query select 'running', null::text, null::bigint;
end
$$;
