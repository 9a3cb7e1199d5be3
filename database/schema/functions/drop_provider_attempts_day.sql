-- Drops a day of uncharged attempts, like drop_request_log_day().
create or replace function drop_provider_attempts_day(day date) returns void language plpgsql
security definer set lock_timeout = '200ms' set search_path from current as $$
begin
  if day >= (now() at time zone 'UTC')::date - 1 then
    raise exception 'attempts of % are not old enough to be dropped', day using errcode = 'invalid_parameter_value';
  end if;
  execute format('drop table if exists %I', 'provider_attempts_' || to_char(day, 'YYYY_MM_DD'));
end
$$;
revoke execute on function drop_provider_attempts_day from public;
