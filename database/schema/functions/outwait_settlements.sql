-- Returns when the settlements in progress have ended (memory-mode-lock.ts).
create or replace function outwait_settlements() returns void language plpgsql
security definer set search_path from current as $$
begin
  lock table accounts in exclusive mode;
end
$$;
revoke execute on function outwait_settlements from public;
