-- Notes of people about a key. The gateway process does not read them.
-- Serves code from version 23 on.
set local lock_timeout = '2s';

alter table keys add column note text check (length(note) between 1 and 500);
