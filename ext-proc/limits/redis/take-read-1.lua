-- Counts one read by a key in the UTC minute, unless the limit is reached.
--
-- KEYS  1 hash: minute, requests
-- ARGV  1 clock (shared.lua)   2 reads per minute
-- Returns  1 if allowed, else 0; now; the minute

local now = clock(ARGV[1])
local minute = math.floor(now / 60000)
local window = redis.call('HMGET', KEYS[1], 'minute', 'requests')
if window[1] and tonumber(window[1]) - 1 == minute then
  minute = minute + 1
end
local requests = 0
if window[1] and tonumber(window[1]) == minute then
  requests = tonumber(window[2])
end
if requests + 1 > tonumber(ARGV[2]) then
  return { 0, now, minute }
end
redis.call('HSET', KEYS[1], 'minute', minute, 'requests', requests + 1)
redis.call('PEXPIRE', KEYS[1], 120000)
return { 1, now, minute }
