-- Counts requests in the UTC minute: reads of a key, or refused requests of an organization or key.
--
-- KEYS  1 hash: minute, requests
-- ARGV  1 clock (shared.lua)   2 how many to add   3 most in a minute, '' for any number
-- Returns  1 if they are counted, else 0; the count of the minute with them; now; the minute

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
if ARGV[3] ~= '' and requests > tonumber(ARGV[3]) then
  return { 0, requests, now, minute }
end
redis.call('HSET', KEYS[1], 'minute', minute, 'requests', requests)
redis.call('PEXPIRE', KEYS[1], 120000)
return { 1, requests, now, minute }
