-- A dump that is loaded, into another server or the same, keeps the timeline: so a database is known by more than that. Every new connection
-- compares (0004_timeline.sql), and the epoch changes by itself where something is another than it was.
set local lock_timeout = '2s';
alter table ledger_state
  drop column timeline,
  -- The server's system identifier, its timeline, the oids of the database and of the table accounts. Null: it could not be read yet.
  add column identity text[] not null default array[null, null, null, null]::text[];

create or replace function note_timeline() returns void language plpgsql as $$
declare
  known text[] := array[
    null, null, (select d.oid::text from pg_database d where d.datname = current_database()), to_regclass('accounts')::oid::text
  ];
begin
  -- Some hosted servers keep these to themselves: there the oids are what is left, and the operator's word.
  begin
    known[1] := (select c.system_identifier::text from pg_control_system() c);
  exception when others then
    null;
  end;
  begin
    known[2] := substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
  exception when others then
    null;
  end;
  update ledger_state s
  set epoch = gen_random_uuid(),
    identity = (
      select array_agg(coalesce(p.now_is, p.was) order by p.place)
      from unnest(known, s.identity) with ordinality p (now_is, was, place)
    )
  where exists (
    select from unnest(known, s.identity) p (now_is, was) where p.now_is is not null and p.now_is is distinct from p.was
  );
end
$$;

-- For a process that has read an earlier state of an account than it knew (setback-watch.ts). Several may see it at once.
create function renew_epoch_after(seen uuid) returns void language sql as $$
  update ledger_state set epoch = gen_random_uuid() where epoch = seen
$$;

do $$
begin
  execute format('alter function note_timeline() security definer set search_path = %I, pg_temp', current_schema());
  execute format('alter function renew_epoch_after(uuid) security definer set search_path = %I, pg_temp', current_schema());
  revoke execute on function renew_epoch_after(uuid) from public;
end
$$;

-- A dump of the release before may have been loaded just now.
select note_timeline();
