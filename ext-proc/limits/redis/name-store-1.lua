-- The name of this Redis, which distinguishes two of them; set if it has none.
--
-- KEYS  1 the hash that holds it
-- ARGV  1 a name, or '' to give none
-- Returns  the name that it bears, '' without one

local name = redis.call('HGET', KEYS[1], 'name')
if not name and ARGV[1] ~= '' then
  name = ARGV[1]
  redis.call('HSET', KEYS[1], 'name', name)
end
return name or ''
