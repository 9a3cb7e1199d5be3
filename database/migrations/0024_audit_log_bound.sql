-- The audit log becomes a table of months (0026). Its rows stay where they are, as the partition of everything before a month to come, so
-- nothing is copied. A bound that is proved beforehand spares the scan under a lock that keeps writers waiting: this file says it, which
-- takes a moment, the next one proves it beside the writers, and each is a transaction of its own.
-- Serves code from version 23 on.
do $$
declare
  newest text;
  bound date := date_trunc('month', now() at time zone 'UTC') + interval '2 months';
begin
  select max(id) into newest from audit_log;
  -- The clock of a process may have been ahead.
  if newest >= id_floor('evt', bound::timestamp at time zone 'UTC') then
    select date_trunc('month', to_timestamp((sum(
        (strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(newest, 5 + place, 1)) - 1) * 32::numeric ^ (9 - place)
      ) / 1000)::double precision) at time zone 'UTC') + interval '1 month'
      into bound from generate_series(0, 9) as place;
  end if;
  execute format(
    'alter table audit_log add constraint %I check (id < %L) not valid',
    'audit_log_before_' || to_char(bound, 'YYYY_MM'),
    id_floor('evt', bound::timestamp at time zone 'UTC')
  );
end
$$;
