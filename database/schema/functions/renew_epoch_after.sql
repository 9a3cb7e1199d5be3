-- Renews the epoch for a process that read an earlier state of an account than it knew
-- (rollback-detection.ts). Several processes may detect the same, so only the first call has an
-- effect.
create or replace function renew_epoch_after(seen uuid) returns void language sql
security definer set search_path from current as $$
  update ledger_state set epoch = gen_random_uuid() where epoch = seen
$$;
revoke execute on function renew_epoch_after from public;
