-- Triggers of a new database. They call functions, which are made after the tables.

-- Entries, checkpoints and events stay as they were written.
create trigger append_only before update or delete on ledger_entries for each row execute function refuse_change();
create trigger append_only_whole before truncate on ledger_entries for each statement execute function refuse_change();
create trigger append_only before update or delete on ledger_checkpoints for each row execute function refuse_change();
create trigger append_only_whole before truncate on ledger_checkpoints for each statement execute function refuse_change();
-- Every partition, later ones too, gets a copy of a trigger for rows. A trigger for statements
-- guards only the table that is named: make_month() makes one for each month.
create trigger append_only before update or delete on audit_log for each row execute function refuse_change();
create trigger append_only_whole before update or delete or truncate on audit_log
  for each statement execute function refuse_change();
create trigger append_only_whole before truncate on audit_log_other for each statement execute function refuse_change();

create trigger lock_account_for_budget before update on keys for each row
  when ((old.monthly_budget_nano_usd, old.lifetime_budget_nano_usd)
    is distinct from (new.monthly_budget_nano_usd, new.lifetime_budget_nano_usd))
  execute function lock_account_for_budget();

create trigger response_deleted after delete on idempotency_keys for each row
  when (old.response_bytes > 0) execute function note_response_gone();
create trigger response_replaced after update of response_bytes on idempotency_keys for each row
  when (old.response_bytes > 0 and new.response_bytes is null) execute function note_response_gone();

create trigger held_until_decided after insert on dead_letters for each row when (new.delivered)
  execute function hold_dead_letter();
create trigger decided after update of resolution on dead_letters for each row
  when (new.delivered and old.resolution is null and new.resolution is not null) execute function hold_dead_letter();

-- All changes of a caller except charges, which the limit store learns when their holds end. A
-- charge that an operator repeats has no hold, so it is told. New keys are in no process's memory.
create trigger caller_changed after update or delete on keys for each row execute function tell_caller_changed('organization_id');
create trigger caller_changed after update or delete on organizations for each row execute function tell_caller_changed('id');
create trigger caller_changed after insert on ledger_entries for each row when (new.kind <> 'charge')
  execute function tell_caller_changed('organization_id');
create trigger caller_changed after update on dead_letters for each row when (new.resolution is not null)
  execute function tell_caller_changed('organization_id');
create trigger caller_changed after update on ledger_state for each row execute function tell_caller_changed();
create trigger caller_changed_whole after truncate on keys for each statement execute function tell_caller_changed();
