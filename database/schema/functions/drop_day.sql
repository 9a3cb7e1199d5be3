-- Drops a day of the request log or of uncharged attempts. The shortest retention is one day, so
-- nobody may drop yesterday's rows. A name has no era: days of the year 2026 BC and of 2026 share
-- one.
create or replace function drop_day(parent text, day date) returns void language plpgsql
security definer set lock_timeout = '200ms' set search_path from current as $$
begin
  if parent not in ('request_log', 'provider_attempts') or day not between '2000-01-01' and (now() at time zone 'UTC')::date - 2 then
    raise exception 'rows of % are not old enough to be dropped from %', day, parent using errcode = 'invalid_parameter_value';
  end if;
  execute format('drop table if exists %I', parent || '_' || to_char(day, 'YYYY_MM_DD'));
end
$$;
revoke execute on function drop_day from public;
