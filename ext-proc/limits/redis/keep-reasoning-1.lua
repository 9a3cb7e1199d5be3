-- Keeps the sealed reasoning of one message. A second one of the same name leaves neither.
--
-- KEYS  1 hash: sealed, '' if two messages have this name
-- ARGV  1 text   2 TTL in ms
-- Returns  kept | ambiguous | full

local memory = redis.call('INFO', 'memory')
local limit = tonumber(string.match(memory, 'maxmemory:(%d+)') or '0')
local used = tonumber(string.match(memory, 'used_memory:(%d+)') or '0')
-- Holds need the rest, and come first.
if limit > 0 and used + #ARGV[1] > limit / 2 then
  return 'full'
end
local isKnown = redis.call('HEXISTS', KEYS[1], 'sealed') == 1
redis.call('HSET', KEYS[1], 'sealed', isKnown and '' or ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return isKnown and 'ambiguous' or 'kept'
