-- Makes a month of the audit log, as make_generations_month().
create or replace function make_audit_log_month(month date) returns void language plpgsql
security definer set lock_timeout = '1s' set search_path from current as $$
declare
  made name := 'audit_log_' || to_char(month, 'YYYY_MM');
begin
  if month <> date_trunc('month', month)::date or abs(month - (now() at time zone 'UTC')::date) > 400 then
    raise exception '% is no month of about now', month using errcode = 'invalid_parameter_value';
  end if;
  if to_regclass(made) is not null then
    return;
  end if;
  execute format(
    'create table %I partition of audit_log for values from (%L) to (%L)',
    made,
    id_floor('evt', month::timestamp at time zone 'UTC'),
    id_floor('evt', (month + interval '1 month') at time zone 'UTC')
  );
  execute format('create trigger append_only_whole before truncate on %I for each statement execute function refuse_change()', made);
end
$$;
revoke execute on function make_audit_log_month from public;
