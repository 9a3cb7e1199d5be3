-- Keys that the dashboard makes for its playground: they live for minutes, and lists of keys leave them out.
-- Serves code from version 23 on.
set local lock_timeout = '2s';

alter table keys
  -- Code of the former release, which makes none, does not name the column.
  add column playground boolean not null default false;

-- The living keys of a member's playground are looked up before another one is made.
create index playground_keys_by_maker on keys (organization_id, created_by, expires_at) where playground;
