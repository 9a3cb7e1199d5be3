-- Invitations are pairs of organization and address, with no claim on the address: a user begins when one is accepted.
-- Serves code from version 23 on.
create table invitations (
  -- Id of the user, if accepting the invitation makes one.
  id text collate "C" primary key check (id ~ '^usr-[0-9A-HJKMNP-TV-Z]{26}$'),
  organization_id text collate "C" not null references organizations,
  email text collate "C" not null check (length(email) between 3 and 254 and email = lower(email)),
  role text not null check (role in ('owner', 'member')),
  -- Made by an operator, who alone makes new links for it.
  by_operator boolean not null default false,
  -- SHA-256 of the newest link's token; null: none was made.
  token_hash bytea unique check (octet_length(token_hash) = 32),
  expires_at timestamptz not null,
  created_at timestamptz not null default now(),
  unique (organization_id, email)
);
create index invitations_by_email on invitations (email);

-- reserved: made by an operator, and not here yet. came_through: the organization whose owner's invitation made the user; null: an operator.
alter table users add column reserved boolean not null default false, add column came_through text collate "C";

-- Users who were invited before there were invitations, or by a dashboard of the release before: whoever never set a password is nobody.
create function invite_pending_users() returns void language plpgsql as $$
begin
  insert into invitations (id, organization_id, email, role, token_hash, expires_at, created_at)
    select case when n = 1 then p.id else 'usr-' || upper(left(md5(p.id || p.organization_id), 26)) end,
      p.organization_id, p.email, p.role, case when n = 1 then l.token_hash end,
      coalesce(case when n = 1 then l.expires_at end, now()), p.created_at
    from (
      select u.id, u.email, m.organization_id, m.role, m.created_at,
        row_number() over (partition by u.id order by m.created_at, m.organization_id) as n
      from users u join memberships m on m.user_id = u.id
      where u.password_hash is null and not u.is_operator and u.disabled_at is null and not u.reserved
    ) p
    left join lateral (
      select k.token_hash, k.expires_at from password_links k where k.user_id = p.id order by k.expires_at desc limit 1
    ) l on true
    on conflict do nothing;
  delete from users where password_hash is null and not is_operator and disabled_at is null and not reserved;
end $$;
revoke all on function invite_pending_users from public;
select invite_pending_users();
