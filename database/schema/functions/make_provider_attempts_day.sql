-- Creates a day of uncharged attempts.
create or replace function make_provider_attempts_day(day date) returns void language sql
security definer set lock_timeout = '200ms' set search_path from current as $$
  select make_partition('provider_attempts', to_char(day, 'YYYY_MM_DD'), 'gen', day, day + 1)
$$;
revoke execute on function make_provider_attempts_day from public;
