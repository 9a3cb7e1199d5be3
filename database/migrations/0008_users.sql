-- Who may sign in to the dashboard. API keys are no part of it: they belong to organizations (0001_accounts.sql).

create table users (
  id text collate "C" primary key check (id ~ '^usr-[0-9A-HJKMNP-TV-Z]{26}$'),
  -- Lower case, so that one mailbox is one user.
  email text collate "C" not null unique check (length(email) between 3 and 254 and email = lower(email)),
  -- argon2id in PHC text; null: invited and not here yet.
  password_hash text,
  is_operator boolean not null default false,
  disabled_at timestamptz,
  created_at timestamptz not null default now(),
  last_signed_in_at timestamptz
);

create index users_operators on users (id) where is_operator;

create table memberships (
  user_id text collate "C" not null references users on delete cascade,
  organization_id text collate "C" not null references organizations,
  role text not null check (role in ('owner', 'member')),
  created_at timestamptz not null default now(),
  primary key (user_id, organization_id)
);
create index memberships_by_organization on memberships (organization_id, user_id);

-- Only the SHA-256 of a session's token is here: who reads this table cannot use it.
create table sessions (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  id text collate "C" not null unique check (id ~ '^ses-[0-9A-HJKMNP-TV-Z]{26}$'),
  user_id text collate "C" not null references users on delete cascade,
  created_at timestamptz not null default now(),
  last_seen_at timestamptz not null default now(),
  expires_at timestamptz not null,
  address text not null,
  user_agent text
);
create index sessions_by_user on sessions (user_id);
create index sessions_by_expiry on sessions (expires_at);

-- Links by which a password is set, once: invitations, and resets by an operator.
create table password_links (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id text collate "C" not null references users on delete cascade,
  purpose text not null check (purpose in ('invitation', 'reset')),
  expires_at timestamptz not null,
  created_at timestamptz not null default now()
);
create index password_links_by_user on password_links (user_id);

-- Attempts to sign in, counted by address and by account in windows. Forgetting them in a crash does no harm.
create unlogged table sign_in_attempts (
  subject text collate "C" not null,
  window_start timestamptz not null,
  attempts integer not null,
  primary key (subject, window_start)
);
create index sign_in_attempts_by_window on sign_in_attempts (window_start);

-- Who made the key; null: an operator's command line. A time of revocation in the future is a plan (key-lookup.ts).
alter table keys
  add column created_by text collate "C",
  add column revocation_decided_at timestamptz;
update keys set revocation_decided_at = revoked_at where revoked_at is not null;
