-- Tidies what no charge could: answers that were deleted at the retention, and organizations that a
-- lower bound, locked rows or very many small answers left above it. `worked`: how many rows it
-- changed; as long as it is `most`, there is more. `bytes`: of all organizations.
create or replace function tidy_stored_answers(bound bigint, most bigint)
returns table (worked bigint, evicted bigint, bytes bigint) language plpgsql as $$
#variable_conflict use_column
declare
  gone record;
  one text;
begin
  with done as (
    delete from stored_answer_changes where ctid = any (array(select c.ctid from stored_answer_changes c limit most for update skip locked))
    returning organization_id, bytes
  )
  select coalesce(array_agg(d.organization_id), '{}') as organizations, coalesce(array_agg(d.bytes), '{}') as sizes into gone from done d;

  perform count_stored_answers(gone.organizations, gone.sizes, 9223372036854775807);
  worked := cardinality(gone.organizations);
  evicted := 0;
  -- Out of the order of organizations now: nobody is waited for.
  for one in
    select s.organization_id from stored_answers s where s.bytes > bound order by s.organization_id limit 100 for update skip locked
  loop
    evicted := evicted + evict_stored_answers(one, bound);
    if evicted >= 1000 then
      worked := most;
      exit;
    end if;
  end loop;
  bytes := (select coalesce(sum(s.bytes), 0) from stored_answers s);
  return next;
end
$$;
