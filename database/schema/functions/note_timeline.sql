-- Renews the epoch if the database may have gone back in time. A server that was promoted
-- (failover) or restored to a point in time continues on a new timeline, and may lack the last
-- commits. Loading a dump, into the same server or another, keeps the timeline, so the database's
-- identity has more parts. Every new connection calls this before its first statement
-- (connection-pool.ts), and no old connection survives such an event. So the epoch changes before
-- anything is read.
create or replace function note_timeline() returns void language plpgsql
security definer set search_path from current as $$
declare
  known text[] := array[
    null, null, (select d.oid::text from pg_database d where d.datname = current_database()), to_regclass('accounts')::oid::text
  ];
begin
  -- Some hosted servers do not allow these reads. Then only the oids remain, and the operator's
  -- `ledger renew-epoch`.
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
revoke execute on function note_timeline from public;
