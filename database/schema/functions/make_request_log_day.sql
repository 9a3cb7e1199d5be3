-- Creates a day of the request log.
create or replace function make_request_log_day(day date) returns void language sql
security definer set lock_timeout = '200ms' set search_path from current as $$
  select make_partition('request_log', to_char(day, 'YYYY_MM_DD'), 'log', day, day + 1)
$$;
revoke execute on function make_request_log_day from public;
