-- Records the bytes of a response that was deleted or replaced, for tidy_stored_answers().
create or replace function note_answer_gone() returns trigger language plpgsql as $$
begin
  insert into stored_answer_changes (organization_id, bytes) values (old.organization_id, -old.answer_bytes);
  return null;
end
$$;
