-- Notifies gateway processes, within the transaction, that callers have changed: those of the
-- organization in the named column, or all of them without a column (docs/design.md, "Callers in
-- memory"). The notice tells the session of the change that it takes effect shortly after the
-- commit (in-force.ts).
create or replace function tell_caller_changed() returns trigger language plpgsql as $$
declare
  organization text := '';
begin
  if tg_nargs = 1 then
    organization := (case tg_op when 'INSERT' then to_jsonb(new) else to_jsonb(old) end) ->> tg_argv[0];
  end if;
  perform pg_notify('caller_changed', organization);
  raise notice 'in force for every request that begins 300 ms after the commit' using errcode = '01GWC';
  return null;
end
$$;
