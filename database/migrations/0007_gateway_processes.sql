-- What every gateway process says of itself every two seconds. Not worth a write to the log of changes: after a crash of the server the
-- processes report again.
create unlogged table gateway_processes (
  -- New at every start of a process.
  id uuid primary key,
  host text not null,
  worker integer not null,
  pid integer not null,
  started_at timestamptz not null,
  reported_at timestamptz not null,
  -- stores/process-reports.ts says what is in it.
  report jsonb not null,
  -- The model mapping as loaded, and its problems; written when it changes.
  configuration jsonb not null,
  configuration_loaded_at timestamptz not null
) with (fillfactor = 50);
