-- The name of the store that shares the limits of this database among processes, beside memory_owner, which says that there is one.
alter table ledger_state add column limit_store text;
