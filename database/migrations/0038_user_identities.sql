-- Sign-ins at an OpenID Connect issuer: users by issuer and subject, and how each session began.
-- Serves code from version 23 on.
set local lock_timeout = '2s';

-- One user of one issuer is one user here, whatever becomes of an address there.
create table user_identities (
  issuer text collate "C" not null check (length(issuer) <= 2048),
  subject text collate "C" not null check (length(subject) between 1 and 255),
  user_id text collate "C" not null references users on delete cascade,
  created_at timestamptz not null default now(),
  primary key (issuer, subject),
  unique (user_id, issuer)
);

-- States of finished sign-ins: each signs in once.
create table used_sign_in_states (
  state_hash bytea primary key check (octet_length(state_hash) = 32),
  expires_at timestamptz not null
);
create index used_sign_in_states_by_expiry on used_sign_in_states (expires_at);

-- An operator by a claim of the issuer, and no longer one without it.
alter table users add column operator_by_claim boolean not null default false;

alter table sessions
  add column began_by text not null default 'password' check (began_by in ('password', 'issuer', 'link')),
  add column issuer text,
  -- For the sign-out at the issuer, which recognizes its session by it.
  add column id_token text check (length(id_token) <= 16384);

-- sign_in: made on the command line; signs in without a password.
alter table password_links drop constraint password_links_purpose_check,
  add constraint password_links_purpose_check check (purpose in ('invitation', 'reset', 'sign_in'));
