-- Key of the hashes that providers are sent instead of `user`, `safety_identifier` and `prompt_cache_key`: one for the deployment, so that every
-- process sends the same ones, also after a restart and a restore.
-- Serves code from version 23 on.
set local lock_timeout = '2s';
alter table ledger_state add column identity_key bytea not null
  default decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex');
