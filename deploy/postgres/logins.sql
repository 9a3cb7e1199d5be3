-- Users for the roles that `gateway migrate` made, with passwords from the environment:
-- psql -f deploy/postgres/logins.sql, as a superuser or as the owner who ran `gateway migrate`. No
-- other user may grant these roles. Each run sets the passwords again; then restart the processes.
-- A user with an empty password cannot sign in.
\set ON_ERROR_STOP on
\getenv process_password GATEWAY_PROCESS_PASSWORD
\getenv dashboard_password GATEWAY_DASHBOARD_PASSWORD
\getenv operator_password GATEWAY_OPERATOR_PASSWORD
\getenv backup_password GATEWAY_BACKUP_PASSWORD

select format('create role %I login in role %I', of_role || '_login', of_role)
from unnest(array['gateway_process', 'gateway_dashboard', 'gateway_operator', 'gateway_backup']) as of_role
where not exists (select from pg_roles where rolname = of_role || '_login')
\gexec

alter role gateway_process_login password :'process_password';
alter role gateway_dashboard_login password :'dashboard_password';
alter role gateway_operator_login password :'operator_password';
alter role gateway_backup_login password :'backup_password';
