-- Creates the partition for the ids of these days. It locks the parent briefly. While it waits for
-- a long reader, requests would queue behind it, so each caller sets a lock timeout. Days must be
-- within about a year.
create or replace function make_partition(parent text, suffix text, prefix text, first date, until date) returns void
language plpgsql set search_path from current as $$
declare
  made text := parent || '_' || suffix;
  key text := substring(pg_get_partkeydef(parent::regclass) from '\((\w+)\)');
  least_id text := id_floor(prefix, first::timestamp at time zone 'UTC');
  beyond text := id_floor(prefix, until::timestamp at time zone 'UTC');
  move text;
begin
  if abs(first - (now() at time zone 'UTC')::date) > 400 then
    raise exception '% is no day of about now', first using errcode = 'invalid_parameter_value';
  end if;
  execute format('create table if not exists %I partition of %I for values from (%L) to (%L)', made, parent, least_id, beyond);
exception when check_violation then
  -- The default partition has rows of these days: a clock was wrong, or no partition could be made
  -- for long. Most move before the parent is locked, those that were written meanwhile afterwards.
  -- Without that lock an insert that began before would break the new bounds of the default
  -- partition, and a charge would be refused for good. The append-only audit log refuses to move.
  execute format('create table %I (like %I including all)', made, parent);
  move := format(
    'with moved as (delete from %I where %I >= %L and %I < %L returning *) insert into %I select * from moved',
    parent || '_other', key, least_id, key, beyond, made
  );
  execute move;
  execute format('lock table only %I', parent);
  execute move;
  execute format('alter table %I attach partition %I for values from (%L) to (%L)', parent, made, least_id, beyond);
end
$$;
revoke execute on function make_partition from public;
