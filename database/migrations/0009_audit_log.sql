-- Who changed what, when and from where. A row is committed with the change that it tells of.
create table audit_log (
  id text collate "C" primary key check (id ~ '^evt-[0-9A-HJKMNP-TV-Z]{26}$'),
  created_at timestamptz not null default now(),
  -- Null: not about one organization.
  organization_id text collate "C",
  -- Null: an operator's command line or the service itself.
  actor_user_id text collate "C",
  -- As people know it: an e-mail address, or user@host of a command line.
  actor text not null check (length(actor) between 1 and 300),
  address text,
  action text collate "C" not null check (action ~ '^[a-z_]+\.[a-z_]+$'),
  -- What it was done to: its id and its name at that time.
  subject_id text collate "C",
  subject_name text,
  -- {field: [before, after]}, without secrets.
  changes jsonb not null default '{}'
);
create index audit_log_by_organization on audit_log (organization_id, id);
create trigger append_only before update or delete on audit_log for each row execute function refuse_change();
create trigger append_only_whole before truncate on audit_log for each statement execute function refuse_change();
