-- Deletes kept reasoning that was evicted.
--
-- KEYS  hashes of keep-reasoning-1.lua, of one organization
-- Returns  OK

for _, key in ipairs(KEYS) do
  redis.call('DEL', key)
end
return 'OK'
