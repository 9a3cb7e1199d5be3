-- Reads the name of this Redis, and gives it one if it has none. The name distinguishes one Redis
-- from another (docs/stores.md, "One Redis for one database").
--
-- KEYS  1 hash with the name
-- ARGV  1 name to give, '' to give none
-- Returns  the name, '' without one

local name = redis.call('HGET', KEYS[1], 'name')
if not name and ARGV[1] ~= '' then
  name = ARGV[1]
  redis.call('HSET', KEYS[1], 'name', name)
end
return name or ''
