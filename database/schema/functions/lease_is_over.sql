-- Ends a lease at its time, but not before everybody could renew it after a restart of the server.
create or replace function lease_is_over(lease_until timestamptz, lease_ms bigint) returns boolean language sql stable as $$
  select clock_timestamp() > greatest(lease_until, pg_postmaster_start_time() + lease_ms * interval '1 millisecond')
$$;
