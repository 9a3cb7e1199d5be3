-- Reads the whole audit log while others write to it (0024).
-- Serves code from version 23 on.
do $$
declare
  bound name;
begin
  select conname into strict bound from pg_constraint
  where conrelid = 'audit_log'::regclass and conname ~ '^audit_log_before_[0-9_]+$';
  execute format('alter table audit_log validate constraint %I', bound);
end
$$;
