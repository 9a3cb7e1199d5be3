-- When the password of a session was last given, for what needs a fresh one; and which passwords somebody else knows.
-- Serves code from version 23 on.
alter table sessions add column password_at timestamptz;
update sessions set password_at = created_at;
alter table sessions alter column password_at set default now(), alter column password_at set not null;
-- Made by a command line, and not replaced by its user yet.
alter table users add column password_handed_out boolean not null default false;
