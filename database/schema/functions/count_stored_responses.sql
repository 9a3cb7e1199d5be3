-- Adds to the sums of stored bytes of these organizations, and keeps each within the bound. Returns
-- the number of evicted responses.
create or replace function count_stored_responses(organizations text[], sizes bigint[], bound bigint) returns bigint language plpgsql as $$
declare
  one record;
  held bigint;
  evicted bigint := 0;
begin
  for one in
    select c.organization_id, sum(c.bytes)::bigint as bytes from unnest(organizations, sizes) as c (organization_id, bytes)
    group by c.organization_id order by c.organization_id collate "C"
  loop
    insert into stored_responses as s (organization_id, bytes) values (one.organization_id, one.bytes)
      on conflict (organization_id) do update set bytes = s.bytes + excluded.bytes returning s.bytes into held;
    if held > bound then
      evicted := evicted + evict_stored_responses(one.organization_id, bound);
    end if;
  end loop;
  return evicted;
end
$$;
