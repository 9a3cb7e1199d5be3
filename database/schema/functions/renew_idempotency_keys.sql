-- Extends the leases of live requests. A key that another request has taken over is left to that
-- request.
create or replace function renew_idempotency_keys(organizations text[], keys bytea[], generations text[], lease_ms bigint)
returns bigint language plpgsql as $$
#variable_conflict use_column
declare
  renewed bigint;
begin
  perform set_config('synchronous_commit', 'off', true);
  -- Skips locked rows: their claims are ending, and waiting for them could deadlock.
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
