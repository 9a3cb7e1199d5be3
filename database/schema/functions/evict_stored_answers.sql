-- Takes the oldest answers of an organization away until the rest is within the bound, a thousand
-- at most. The caller has locked its sum. Rows that somebody has locked are passed over: the other
-- one could wait for us. They, and answers whose transaction took longer than that of newer ones,
-- are older than the last that gave way: hence the minute, and a second walk if the first finds too
-- few.
create or replace function evict_stored_answers(organization text, bound bigint) returns bigint language plpgsql as $$
declare
  above bigint;
  since timestamptz;
  freed bigint := 0;
  evicted bigint := 0;
  victim record;
  oldest cursor for
    select k.key_hash, k.answer_bytes, k.finished_at from idempotency_keys k
    where k.organization_id = organization and k.answer_bytes > 0 and k.finished_at >= coalesce(since, '-infinity')
    order by k.finished_at for update skip locked;
begin
  select s.bytes - bound, s.oldest_at into above, since from stored_answers s where s.organization_id = organization for update;
  if above is null or above <= 0 then
    return 0;
  end if;
  for walk in 1..2 loop
    open oldest;
    loop
      fetch oldest into victim;
      exit when not found;
      update idempotency_keys k set answer = null, answer_bytes = 0 where k.organization_id = organization and k.key_hash = victim.key_hash;
      freed := freed + victim.answer_bytes;
      evicted := evicted + 1;
      since := victim.finished_at - interval '1 minute';
      exit when freed >= above or evicted = 1000;
    end loop;
    close oldest;
    exit when freed >= above or evicted = 1000;
    since := null;
  end loop;
  update stored_answers s set bytes = s.bytes - freed, oldest_at = since where s.organization_id = organization;
  return evicted;
end
$$;
