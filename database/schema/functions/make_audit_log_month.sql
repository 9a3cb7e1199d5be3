-- Creates a month of the audit log, with a trigger that forbids truncating it.
create or replace function make_audit_log_month(month date) returns void language plpgsql
security definer set lock_timeout = '1s' set search_path from current as $$
declare
  made name := 'audit_log_' || to_char(month, 'YYYY_MM');
begin
  if month <> date_trunc('month', month)::date then
    raise exception '% is no month', month using errcode = 'invalid_parameter_value';
  end if;
  if to_regclass(made) is not null then
    return;
  end if;
  perform make_partition('audit_log', to_char(month, 'YYYY_MM'), 'evt', month, (month + interval '1 month')::date);
  execute format('create trigger append_only_whole before truncate on %I for each statement execute function refuse_change()', made);
end
$$;
revoke execute on function make_audit_log_month from public;
