-- True if a lease has expired. After a restart of the server it lasts until its owner could renew
-- it.
create or replace function lease_is_over(lease_until timestamptz, lease_ms bigint) returns boolean language sql stable as $$
  select clock_timestamp() > greatest(lease_until, pg_postmaster_start_time() + lease_ms * interval '1 millisecond')
$$;
