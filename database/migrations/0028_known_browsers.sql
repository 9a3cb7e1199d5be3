-- Browsers in which a user has signed in: others' wrong passwords do not hold those up.
-- Serves code from version 23 on.
create table known_browsers (
  token_hash bytea primary key check (octet_length(token_hash) = 32),
  user_id text collate "C" not null references users on delete cascade,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null
);
create index known_browsers_by_user on known_browsers (user_id);
create index known_browsers_by_expiry on known_browsers (expires_at);

-- Addresses that send X-Forwarded-For to the dashboard and are not in trusted_proxies: for `doctor`. A crash may forget them.
create unlogged table untrusted_proxies (
  address text collate "C" primary key,
  seen_at timestamptz not null
);
