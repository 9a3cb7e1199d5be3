-- Charges requests whose responses were stored in this transaction. Adds the stored bytes to the
-- sums under the account locks that the charge has taken.
create or replace function charge_stored_responses(
  charges charge[], users text[], costs bigint[], list_prices bigint[], organizations text[], sizes bigint[], bound bigint
) returns table (charged json, evicted bigint) language plpgsql as $$
begin
  charged := charge_generations(charges, users, costs, list_prices);
  evicted := count_stored_responses(organizations, sizes, bound);
  return next;
end
$$;
