-- Creates the partition for the ids of these days. It locks the parent briefly. While it waits for
-- a long reader, requests would queue behind it, so each caller sets a lock timeout. Days must be
-- within about a year.
create or replace function make_partition(parent text, suffix text, prefix text, first date, until date) returns void
language plpgsql set search_path from current as $$
begin
  if abs(first - (now() at time zone 'UTC')::date) > 400 then
    raise exception '% is no day of about now', first using errcode = 'invalid_parameter_value';
  end if;
  execute format(
    'create table if not exists %I partition of %I for values from (%L) to (%L)', parent || '_' || suffix, parent,
    id_floor(prefix, first::timestamp at time zone 'UTC'), id_floor(prefix, until::timestamp at time zone 'UTC')
  );
end
$$;
revoke execute on function make_partition from public;
