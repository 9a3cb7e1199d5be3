-- Creates a month of generations, or of the audit log, with a trigger that forbids truncating it.
create or replace function make_month(parent text, month date) returns void language plpgsql
security definer set lock_timeout = '1s' set search_path from current as $$
declare
  prefix text := case parent when 'generations' then 'gen' when 'audit_log' then 'evt' end;
  suffix text := to_char(month, 'YYYY_MM');
begin
  if prefix is null or month <> date_trunc('month', month)::date then
    raise exception '% is no month of %', month, parent using errcode = 'invalid_parameter_value';
  end if;
  if to_regclass(parent || '_' || suffix) is not null then
    return;
  end if;
  perform make_partition(parent, suffix, prefix, month, (month + interval '1 month')::date);
  if parent = 'audit_log' then
    execute format('create trigger append_only_whole before truncate on %I for each statement execute function refuse_change()', parent || '_' || suffix);
  end if;
end
$$;
revoke execute on function make_month from public;
