-- Makes a month of generations. Making a partition locks its parent for a moment: requests must not
-- queue behind it while it waits for a long reader. A year around now is all that anybody needs.
create or replace function make_generations_month(month date) returns void language plpgsql
security definer set lock_timeout = '1s' set search_path from current as $$
begin
  if month <> date_trunc('month', month)::date or abs(month - (now() at time zone 'UTC')::date) > 400 then
    raise exception '% is no month of about now', month using errcode = 'invalid_parameter_value';
  end if;
  execute format(
    'create table if not exists %I partition of generations for values from (%L) to (%L)',
    'generations_' || to_char(month, 'YYYY_MM'),
    id_floor('gen', month::timestamp at time zone 'UTC'),
    id_floor('gen', (month + interval '1 month') at time zone 'UTC')
  );
end
$$;
revoke execute on function make_generations_month from public;
