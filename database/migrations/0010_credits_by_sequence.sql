-- The few entries that operators make, among millions of charges: the dashboard lists them by themselves.
create index ledger_entries_credits on ledger_entries (organization_id, sequence) where kind = 'credit';
