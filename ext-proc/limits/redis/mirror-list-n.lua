-- Reads copies of charges that wait, the oldest of each shard. A damaged key of one shard does not
-- hide the others.
--
-- KEYS  for each shard its index and its texts (mirror-add-3.lua)
-- ARGV  1 most copies of a shard
-- Returns  organization|generation id, text, one after the other

local found = {}
for i = 1, #KEYS, 2 do
  local ids = redis.pcall('ZRANGEBYSCORE', KEYS[i], '-inf', '+inf', 'LIMIT', '0', ARGV[1])
  for _, id in ipairs(ids) do
    local charge = redis.pcall('HGET', KEYS[i + 1], id)
    if type(charge) == 'string' then
      found[#found + 1] = id
      found[#found + 1] = charge
    elseif charge == false then
      redis.call('ZREM', KEYS[i], id)
    end
  end
end
return found
