-- Records the bytes of a response that was deleted or replaced, for tidy_stored_responses().
create or replace function note_response_gone() returns trigger language plpgsql as $$
begin
  insert into stored_response_changes (organization_id, bytes) values (old.organization_id, -old.response_bytes);
  return null;
end
$$;
