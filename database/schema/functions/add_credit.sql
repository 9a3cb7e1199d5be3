-- Adds an operator's entry. A negative amount is a correction. If the organization used the
-- reference before, nothing is added: `applied` is false, and `amount_nano_usd` is the amount that
-- was added then. If another organization used it, credit_references_pkey refuses it. No row: the
-- organization does not exist.
create or replace function add_credit(organization text, amount bigint, entry_note text, entry_reference text, entry_actor text)
returns table (applied boolean, amount_nano_usd bigint, balance_nano_usd bigint) language plpgsql
security definer set search_path from current as $$
#variable_conflict use_column
declare
  account accounts;
  earlier bigint;
begin
  -- Overrides the session's setting. With a session pooler it may be left over from the request
  -- log, which accepts that a crash loses its commits.
  if current_setting('synchronous_commit') in ('off', 'local') then
    perform set_config('synchronous_commit', 'on', true);
  end if;
  if length(entry_note) not between 1 and 500 or length(entry_reference) not between 1 and 200 or length(entry_actor) not between 1 and 200 then
    raise exception 'a note, a reference or an actor is empty or too long' using errcode = 'check_violation';
  end if;
  select * into account from accounts a where a.organization_id = organization for update;
  if not found then
    return;
  end if;
  select e.amount_nano_usd into earlier from ledger_entries e where e.organization_id = organization and e.reference = entry_reference;
  if found then
    return query select false, earlier, account.balance_nano_usd;
    return;
  end if;
  if entry_reference is not null then
    insert into credit_references (reference, organization_id) values (entry_reference, organization);
  end if;
  update accounts a
  set sequence = a.sequence + 1,
    balance_nano_usd = a.balance_nano_usd + amount,
    total_credits_nano_usd = a.total_credits_nano_usd + amount
  where a.organization_id = organization
  returning * into account;
  insert into ledger_entries (organization_id, sequence, kind, amount_nano_usd, balance_nano_usd, note, reference, actor)
  values (organization, account.sequence, 'credit', amount, account.balance_nano_usd, entry_note, entry_reference, entry_actor);
  return query select true, amount, account.balance_nano_usd;
end
$$;
revoke execute on function add_credit from public;
