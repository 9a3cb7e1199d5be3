-- Creates a day of the request log or of uncharged attempts.
create or replace function make_day(parent text, day date) returns void language plpgsql
security definer set lock_timeout = '200ms' set search_path from current as $$
declare
  prefix text := case parent when 'request_log' then 'log' when 'provider_attempts' then 'gen' end;
begin
  if prefix is null then
    raise exception '% has no days', parent using errcode = 'invalid_parameter_value';
  end if;
  perform make_partition(parent, to_char(day, 'YYYY_MM_DD'), prefix, day, day + 1);
end
$$;
revoke execute on function make_day from public;
