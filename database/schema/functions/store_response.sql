-- Ends a request's claim with its response. The response is not stored if it alone exceeds the
-- bound. A repetition changes nothing. If the row was deleted meanwhile, it is inserted again,
-- because no other request has the key. `mine`: no other request has the key. `stored`: bytes to
-- add to the sum.
create or replace function store_response(organization text, key bytea, body bytea, generation text, sealed bytea, bound bigint)
returns table (mine boolean, stored bigint) language plpgsql as $$
declare
  kept bytea := case when octet_length(sealed) <= bound then sealed end;
  kept_bytes bigint := coalesce(octet_length(kept), 0);
  owner text;
begin
  for tries in 1..5 loop
    update idempotency_keys k set finished_at = clock_timestamp(), response = kept, response_bytes = kept_bytes
      where k.organization_id = organization and k.key_hash = key and k.generation_id = generation and k.finished_at is null;
    if not found then
      insert into idempotency_keys (organization_id, key_hash, body_hash, generation_id, lease_until, finished_at, response, response_bytes)
      values (organization, key, body, generation, clock_timestamp(), clock_timestamp(), kept, kept_bytes)
      on conflict do nothing;
    end if;
    if found then
      return query select true, kept_bytes;
      return;
    end if;
    select k.generation_id into owner from idempotency_keys k where k.organization_id = organization and k.key_hash = key
      and (k.generation_id <> generation or k.finished_at is not null);
    if found then
      return query select owner = generation, 0::bigint;
      return;
    end if;
  end loop;
  raise exception 'the idempotency key of % changes all the time', generation using errcode = 'serialization_failure';
end
$$;
