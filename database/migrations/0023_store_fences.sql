-- The newest fence of each shard of the store that gateway processes share: one number for all of them, or one for each with commas between
-- (shard-fences.ts). It is text because every request reads it, and compares it with what was read before.

set local lock_timeout = '2s';
alter table ledger_state add column store_fences text not null default '0';
