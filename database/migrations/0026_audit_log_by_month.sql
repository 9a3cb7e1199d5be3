-- The audit log by months, so that an operator can archive and detach what is old (docs/operating.md). Rows of before are a partition of
-- their own, attached by the bound that 0025 proved. Months are made ahead by month-partitions.ts; what has none lands in the default.
-- Serves code from version 23 on.
do $$
declare
  former name;
  has_rows boolean;
begin
  lock table audit_log in access exclusive mode;
  select conname into strict former from pg_constraint
  where conrelid = 'audit_log'::regclass and conname ~ '^audit_log_before_[0-9_]+$';
  drop trigger append_only on audit_log;
  alter index audit_log_pkey rename to audit_log_former_pkey;
  alter index audit_log_by_organization rename to audit_log_former_by_organization;
  execute format('alter table audit_log rename to %I', former);
  execute format('create table audit_log (like %I including defaults including constraints) partition by range (id)', former);
  execute format('alter table audit_log drop constraint %I', former);
  alter table audit_log add primary key (id);
  create index audit_log_by_organization on audit_log (organization_id, id);
  create table audit_log_other partition of audit_log default;
  -- Every partition, later ones too, gets a copy of a trigger for rows. A trigger for statements guards only the table that is named.
  create trigger append_only before update or delete on audit_log for each row execute function refuse_change();
  create trigger append_only_whole before update or delete or truncate on audit_log for each statement execute function refuse_change();
  create trigger append_only_whole before truncate on audit_log_other for each statement execute function refuse_change();
  execute format('select exists (select from %I)', former) into has_rows;
  if has_rows then
    execute format('alter table audit_log attach partition %I for values from (minvalue) to (%L)', former,
      id_floor('evt', to_date(substr(former, 18), 'YYYY_MM')::timestamp at time zone 'UTC'));
    execute format('alter table %I drop constraint %I', former, former);
  else
    execute format('drop table %I', former);
  end if;
end
$$;

-- As make_generations_month() of 0012_rights.sql. Months that the rows of before have are there already.
create function make_audit_log_month(month date) returns void language plpgsql set lock_timeout = '1s' as $$
declare
  made name := 'audit_log_' || to_char(month, 'YYYY_MM');
begin
  if month <> date_trunc('month', month)::date or abs(month - (now() at time zone 'UTC')::date) > 400 then
    raise exception '% is no month of about now', month using errcode = 'invalid_parameter_value';
  end if;
  if to_regclass(made) is not null or exists (
    select from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'audit_log'::regclass and c.relname ~ '^audit_log_before_' and substr(c.relname, 18) > to_char(month, 'YYYY_MM')
  ) then
    return;
  end if;
  execute format(
    'create table %I partition of audit_log for values from (%L) to (%L)',
    made,
    id_floor('evt', month::timestamp at time zone 'UTC'),
    id_floor('evt', (month + interval '1 month') at time zone 'UTC')
  );
  execute format('create trigger append_only_whole before truncate on %I for each statement execute function refuse_change()', made);
end
$$;

do $$
begin
  execute format('alter function make_audit_log_month security definer set search_path = %I, pg_temp', current_schema());
  revoke execute on function make_audit_log_month from public;
end
$$;
