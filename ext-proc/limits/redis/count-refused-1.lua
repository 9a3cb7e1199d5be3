-- Counts refused requests of an organization or a key in the UTC minute.
--
-- KEYS  1 hash: minute, requests
-- ARGV  1 clock (shared.lua)   2 how many to add
-- Returns  the count of the minute, now, the minute

local now = clock(ARGV[1])
local minute = math.floor(now / 60000)
local window = redis.call('HMGET', KEYS[1], 'minute', 'requests')
if window[1] and tonumber(window[1]) - 1 == minute then
  minute = minute + 1
end
local requests = tonumber(ARGV[2])
if window[1] and tonumber(window[1]) == minute then
  requests = requests + tonumber(window[2])
end
redis.call('HSET', KEYS[1], 'minute', minute, 'requests', requests)
redis.call('PEXPIRE', KEYS[1], 120000)
return { requests, now, minute }
