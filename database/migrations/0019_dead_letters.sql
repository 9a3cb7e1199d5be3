-- What became of charges that the ledger refused (`ledger dead-letters`).
alter table dead_letters
  -- The client was given the answer, or may have been. Null: of the release before, which did not tell.
  add column delivered boolean,
  -- Null: nobody has decided yet.
  add column resolution text check (resolution in ('charged', 'forgiven')),
  add column resolved_at timestamptz,
  add check ((resolution is null) = (resolved_at is null));
