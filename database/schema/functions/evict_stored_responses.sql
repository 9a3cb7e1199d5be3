-- Evicts the oldest stored responses of an organization until the rest is within the bound, at most
-- a thousand. The caller has locked its sum. Locked rows are skipped, because their transaction
-- could wait for this one. They may be older than the last evicted response, and so may responses
-- whose transaction took longer than that of newer ones. Hence the walk starts a minute earlier,
-- and starts again from the oldest if it finds too few.
create or replace function evict_stored_responses(organization text, bound bigint) returns bigint language plpgsql as $$
declare
  above bigint;
  since timestamptz;
  freed bigint := 0;
  evicted bigint := 0;
  victim record;
  oldest cursor for
    select k.key_hash, k.response_bytes, k.finished_at from idempotency_keys k
    where k.organization_id = organization and k.response_bytes > 0 and k.finished_at >= coalesce(since, '-infinity')
    order by k.finished_at for update skip locked;
begin
  select s.bytes - bound, s.oldest_at into above, since from stored_responses s where s.organization_id = organization for update;
  if above is null or above <= 0 then
    return 0;
  end if;
  for walk in 1..2 loop
    open oldest;
    loop
      fetch oldest into victim;
      exit when not found;
      update idempotency_keys k set response = null, response_bytes = 0 where k.organization_id = organization and k.key_hash = victim.key_hash;
      freed := freed + victim.response_bytes;
      evicted := evicted + 1;
      since := victim.finished_at - interval '1 minute';
      exit when freed >= above or evicted = 1000;
    end loop;
    close oldest;
    exit when freed >= above or evicted = 1000;
    since := null;
  end loop;
  update stored_responses s set bytes = s.bytes - freed, oldest_at = since where s.organization_id = organization;
  return evicted;
end
$$;
