-- Drops a day of the request log. The shortest retention is one day, so nobody may drop yesterday's
-- rows.
create or replace function drop_request_log_day(day date) returns void language plpgsql
security definer set lock_timeout = '200ms' set search_path from current as $$
begin
  if day >= (now() at time zone 'UTC')::date - 1 then
    raise exception 'lines of % are not old enough to be dropped', day using errcode = 'invalid_parameter_value';
  end if;
  execute format('drop table if exists %I', 'request_log_' || to_char(day, 'YYYY_MM_DD'));
end
$$;
revoke execute on function drop_request_log_day from public;
