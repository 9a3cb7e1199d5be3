-- A server that was promoted (failover) or restored to a point in time goes on under a new timeline, and may lack the last commits. Every
-- new connection looks before its first statement (connection-pool.ts), and no old connection survives such an event: so the epoch changes
-- before anything is read from there. A dump that is loaded elsewhere keeps its timeline: then the operator says it (ledger renew-epoch).
alter table ledger_state add column timeline text;

create function note_timeline() returns void language plpgsql as $$
declare
  current_timeline text;
begin
  begin
    current_timeline := substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8);
  exception when others then
    -- Some hosted servers keep their write-ahead log to themselves: there, as after a dump, it is the operator's word.
    return;
  end;
  update ledger_state set timeline = current_timeline, epoch = gen_random_uuid() where timeline is distinct from current_timeline;
end
$$;
