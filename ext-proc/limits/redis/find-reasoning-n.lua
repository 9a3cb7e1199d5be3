-- Finds kept reasoning, up to a number of bytes.
--
-- KEYS  hashes of keep-reasoning-1.lua, of one organization
-- ARGV  1 most bytes of all
-- Returns  their texts, '' for each that is missing or too large

local left = tonumber(ARGV[1])
local found = {}
for i, key in ipairs(KEYS) do
  local sealed = redis.call('HGET', key, 'sealed') or ''
  if #sealed > left then
    sealed = ''
  end
  left = left - #sealed
  found[i] = sealed
end
return found
