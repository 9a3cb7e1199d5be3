-- Takes over the claim of another request, unless that request has ended. From then on
-- mirror-add-3.lua refuses its charge.
--
-- KEYS  1 texts of the shard's copies (mirror-add-3.lua)   2 hash that exists if it was taken over
-- ARGV  1 organization|generation id of the other request   2 TTL of the hash in ms
-- Returns  1: taken over; 0: the other request has ended

if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
  return 0
end
redis.call('HSET', KEYS[2], 'given_up', '1')
redis.call('PEXPIRE', KEYS[2], ARGV[2])
return 1
