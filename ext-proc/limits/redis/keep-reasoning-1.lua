-- Keeps the sealed reasoning of one message. A different message of the same name makes the name
-- ambiguous, and so does one that is not kept.
--
-- KEYS  1 hash: sealed, '' if the name is ambiguous
-- ARGV  1 text, '' to make the name ambiguous   2 TTL in ms
-- Returns  kept | ambiguous | full

local memory = redis.call('INFO', 'memory')
local limit = tonumber(string.match(memory, 'maxmemory:(%d+)') or '0')
local used = tonumber(string.match(memory, 'used_memory:(%d+)') or '0')
-- The other half of the memory is reserved for holds.
local isFull = limit > 0 and used + #ARGV[1] > limit / 2
local known = redis.call('HGET', KEYS[1], 'sealed') or ARGV[1]
local text = (isFull or known ~= ARGV[1]) and '' or ARGV[1]
redis.call('HSET', KEYS[1], 'sealed', text)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if isFull then
  return 'full'
end
return text == '' and 'ambiguous' or 'kept'
