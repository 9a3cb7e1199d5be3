-- The smallest id of a moment, in the format of core/ids.ts.
create or replace function id_floor(prefix text, moment timestamptz) returns text language sql immutable as $$
  select prefix || '-' || string_agg(
    substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', (((floor(extract(epoch from moment) * 1000)::bigint >> shift) & 31) + 1)::integer, 1), ''
    order by shift desc
  )
  from generate_series(0, 45, 5) as shift
$$;
