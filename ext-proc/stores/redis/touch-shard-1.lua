-- Keeps a shard's marker from expiring, begins a new incarnation where the present one is over, or where `anew` says that what is kept here
-- must not be believed any more.
--
-- KEYS  1 shard
-- ARGV  1 clock, or '' for the server's   2 lease in ms   3 nonce, by which open-shard-1.lua knows the incarnation   4 anew: 1 or 0
-- Returns  ms until admissions open

local now, lease_ms = clock(ARGV[1]), tonumber(ARGV[2])
local run = run_id()
local marker = redis.call('HMGET', KEYS[1], 'run', 'opens')
if marker[1] == run and ARGV[4] == '0' then
  redis.call('PEXPIRE', KEYS[1], SHARD_TTL_MS)
  return opens_in(KEYS[1], tonumber(marker[2]), now, lease_ms)
end
begin_incarnation(KEYS[1], run, now, now + lease_ms, ARGV[3])
return lease_ms
