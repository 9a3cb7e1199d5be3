-- Creates a month of generations.
create or replace function make_generations_month(month date) returns void language plpgsql
security definer set lock_timeout = '1s' set search_path from current as $$
begin
  if month <> date_trunc('month', month)::date then
    raise exception '% is no month', month using errcode = 'invalid_parameter_value';
  end if;
  perform make_partition('generations', to_char(month, 'YYYY_MM'), 'gen', month, (month + interval '1 month')::date);
end
$$;
revoke execute on function make_generations_month from public;
