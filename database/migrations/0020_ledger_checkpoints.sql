-- How each organization's ledger stood after an entry, with a hash of the entries that led there, signed: so a past that was changed and an
-- end that was lost are seen, and what was verified once need not be read again.
create table ledger_checkpoints (
  organization_id text collate "C" not null,
  sequence bigint not null check (sequence > 0),
  balance_nano_usd bigint not null,
  total_credits_nano_usd bigint not null,
  -- 0: the organization's first.
  previous_sequence bigint not null check (previous_sequence between 0 and sequence - 1),
  -- Of the hash before (32 zero bytes) and the SHA-256 of the entries since.
  hash bytea not null check (octet_length(hash) = 32),
  created_at timestamptz not null,
  -- Ed25519.
  public_key bytea not null check (octet_length(public_key) = 32),
  signature bytea not null check (octet_length(signature) = 64),
  primary key (organization_id, sequence)
);
create index ledger_checkpoints_by_time on ledger_checkpoints (created_at);
create trigger append_only before update or delete on ledger_checkpoints for each row execute function refuse_change();
create trigger append_only_whole before truncate on ledger_checkpoints for each statement execute function refuse_change();
