-- Makes a day of the uncharged attempts, as make_request_log_day().
create or replace function make_provider_attempts_day(day date) returns void language plpgsql
security definer set lock_timeout = '200ms' set search_path from current as $$
begin
  if abs(day - (now() at time zone 'UTC')::date) > 400 then
    raise exception '% is no day of about now', day using errcode = 'invalid_parameter_value';
  end if;
  execute format(
    'create table if not exists %I partition of provider_attempts for values from (%L) to (%L)',
    'provider_attempts_' || to_char(day, 'YYYY_MM_DD'),
    id_floor('gen', day::timestamp at time zone 'UTC'),
    id_floor('gen', (day + 1)::timestamp at time zone 'UTC')
  );
end
$$;
revoke execute on function make_provider_attempts_day from public;
