-- Makes the partition of the ids of these days. It locks the parent for a moment: requests must not
-- queue behind it while it waits for a long reader, so each caller has a timeout. A year around now
-- is all that anybody needs.
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
