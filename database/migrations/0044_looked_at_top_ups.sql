-- When the dashboard last read an open top-up from Stripe by itself: events may never arrive.
-- Serves code from version 23 on.
set local lock_timeout = '2s';

alter table top_ups add column looked_at timestamptz;
create index top_ups_open on top_ups (created_at) where state = 'open';
