-- How many changes were asked for in the dashboard, by user and by organization, in windows of a minute and of a day: its processes count
-- together. Forgetting them in a crash does no harm.
-- Serves code from version 23 on.
create unlogged table change_counts (
  subject text collate "C" not null,
  window_seconds integer not null,
  window_start timestamptz not null,
  changes integer not null,
  primary key (subject, window_seconds, window_start)
);
create index change_counts_by_window on change_counts (window_start);
