-- Corrects what charges could not: sums after deletions at the retention, and organizations above
-- the bound because it was lowered, rows were locked, or there were very many small responses.
-- `worked` is the number of changed rows; if it is `most`, there is more to do. `bytes` is the sum
-- of all organizations.
create or replace function tidy_stored_responses(bound bigint, most bigint)
returns table (worked bigint, evicted bigint, bytes bigint) language plpgsql as $$
#variable_conflict use_column
declare
  gone record;
  one text;
begin
  with done as (
    delete from stored_response_changes where ctid = any (array(select c.ctid from stored_response_changes c limit most for update skip locked))
    returning organization_id, bytes
  )
  select coalesce(array_agg(d.organization_id), '{}') as organizations, coalesce(array_agg(d.bytes), '{}') as sizes into gone from done d;

  perform count_stored_responses(gone.organizations, gone.sizes, 9223372036854775807);
  worked := cardinality(gone.organizations);
  evicted := 0;
  -- These locks are not in the order of organizations, so locked rows are skipped.
  for one in
    select s.organization_id from stored_responses s where s.bytes > bound order by s.organization_id limit 100 for update skip locked
  loop
    evicted := evicted + evict_stored_responses(one, bound);
    if evicted >= 1000 then
      worked := most;
      exit;
    end if;
  end loop;
  bytes := (select coalesce(sum(s.bytes), 0) from stored_responses s);
  return next;
end
$$;
