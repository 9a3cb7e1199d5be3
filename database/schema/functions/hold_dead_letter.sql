-- Adds what a new dead letter owes to its account, and subtracts it when an operator has decided.
-- The lock of the account puts that in order with charges.
create or replace function hold_dead_letter() returns trigger language plpgsql
security definer set search_path from current as $$
begin
  update accounts a
  set dead_letters_nano_usd = a.dead_letters_nano_usd + case tg_op when 'INSERT' then new.due_nano_usd else -new.due_nano_usd end,
    dead_letter_changes = a.dead_letter_changes + 1
  where a.organization_id = new.organization_id;
  return null;
end
$$;
revoke execute on function hold_dead_letter from public;
