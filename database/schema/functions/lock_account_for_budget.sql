-- Orders the change of a long budget between two charges of the organization. A charge that did not
-- see the budget, and so did not return these sums, is committed before the change, and every
-- account snapshot with the budget includes it. Limit stores rely on this.
create or replace function lock_account_for_budget() returns trigger language plpgsql
security definer set search_path from current as $$
begin
  perform from accounts a where a.organization_id = new.organization_id for update;
  return new;
end
$$;
revoke execute on function lock_account_for_budget from public;
