-- Adds what a new dead letter owes to its account, and subtracts it when an operator has decided.
-- The lock of the account puts that in order with charges. The letters of an account owe at most
-- 1e9 USD together, because an overflow would refuse the letter, and the charge would be lost.
create or replace function hold_dead_letter() returns trigger language plpgsql
security definer set search_path from current as $$
declare
  added bigint := -new.due_nano_usd;
begin
  if tg_op = 'INSERT' then
    select least(new.due_nano_usd, 1000000000000000000 - a.dead_letters_nano_usd) into added
    from accounts a where a.organization_id = new.organization_id for no key update;
    update dead_letters set due_nano_usd = added where generation_id = new.generation_id and added < new.due_nano_usd;
  end if;
  update accounts a
  set dead_letters_nano_usd = a.dead_letters_nano_usd + added, dead_letter_changes = a.dead_letter_changes + 1
  where a.organization_id = new.organization_id;
  return null;
end
$$;
revoke execute on function hold_dead_letter from public;
