-- What a process may do without owning the tables (roles.sql). Money, the request log's past and partitions change through functions that run
-- with their owner's rights and check what they are given; their search path is fixed, so that nobody can put tables of his own in front.

-- Where the ids of a moment begin, as domain/ids.ts makes them.
create function id_floor(prefix text, moment timestamptz) returns text language sql immutable as $$
  select prefix || '-' || string_agg(
    substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (((floor(extract(epoch from moment) * 1000)::bigint >> shift) & 31) + 1)::integer, 1), ''
    order by shift desc
  )
  from generate_series(0, 45, 5) as shift
$$;

-- Making a partition locks its parent for a moment: requests must not queue behind it while it waits for a long reader. A year around now is
-- all that anybody needs.
create function make_generations_month(month date) returns void language plpgsql set lock_timeout = '1s' as $$
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

create function make_request_log_day(day date) returns void language plpgsql set lock_timeout = '200ms' as $$
begin
  if abs(day - (now() at time zone 'UTC')::date) > 400 then
    raise exception '% is no day of about now', day using errcode = 'invalid_parameter_value';
  end if;
  execute format(
    'create table if not exists %I partition of request_log for values from (%L) to (%L)',
    'request_log_' || to_char(day, 'YYYY_MM_DD'),
    id_floor('log', day::timestamp at time zone 'UTC'),
    id_floor('log', (day + 1)::timestamp at time zone 'UTC')
  );
end
$$;

-- The shortest retention is a day: yesterday's lines are nobody's to drop.
create function drop_request_log_day(day date) returns void language plpgsql set lock_timeout = '200ms' as $$
begin
  if day >= (now() at time zone 'UTC')::date - 1 then
    raise exception 'lines of % are not old enough to be dropped', day using errcode = 'invalid_parameter_value';
  end if;
  execute format('drop table if exists %I', 'request_log_' || to_char(day, 'YYYY_MM_DD'));
end
$$;

-- Returns when the settlements under way have ended (memory-mode-lock.ts).
create function outwait_settlements() returns void language plpgsql as $$
begin
  lock table accounts in exclusive mode;
end
$$;

do $$
declare
  one regprocedure;
begin
  for one in
    select p.oid from pg_proc p
    where p.pronamespace = current_schema()::regnamespace and p.proname in (
      'settle_generations', 'add_credit', 'note_timeline', 'write_request_log', 'make_generations_month', 'make_request_log_day',
      'drop_request_log_day', 'outwait_settlements'
    )
  loop
    execute format('alter function %s security definer set search_path = %I, pg_temp', one, current_schema());
    execute format('revoke execute on function %s from public', one);
  end loop;
end
$$;
