-- Hashes of which every field is read once and written once by a call, and only if it changed: most of what a script costs are its commands,
-- and numbers that become text or come from it (2 us each where Redis does it). `false` is a field that is not there.
local function open_hash(name)
  return { name = name, known = {}, changed = {} }
end

local function fetch(hash, fields)
  local values = redis.call('HMGET', hash.name, unpack(fields))
  for i, field in ipairs(fields) do
    hash.known[field] = values[i]
  end
end

local function empty(hash)
  redis.call('DEL', hash.name)
  hash.known, hash.changed, hash.is_new = {}, {}, true
end

local function get(hash, field)
  local value = hash.known[field]
  if value == nil then
    value = not hash.is_new and redis.call('HGET', hash.name, field)
    hash.known[field] = value
  end
  return value
end

local function set(hash, field, value)
  if get(hash, field) ~= value then
    hash.known[field], hash.changed[field] = value, true
  end
end

local function add(hash, field, amount)
  set(hash, field, (tonumber(get(hash, field)) or 0) + amount)
end

-- A day of which nothing is held has no field.
local function add_held(hash, field, amount)
  local sum = (tonumber(get(hash, field)) or 0) + amount
  set(hash, field, sum > 0 and sum)
end

local function text(value)
  return type(value) == 'number' and string.format('%d', value) or value
end

-- Both tell the server what changed, and return what they told it.
local function removed(hash)
  local fields = {}
  for field in pairs(hash.changed) do
    if not hash.known[field] then
      fields[#fields + 1] = field
    end
  end
  if #fields > 0 then
    redis.call('HDEL', hash.name, unpack(fields))
  end
  return fields
end

local function written(hash)
  local fields = {}
  for field in pairs(hash.changed) do
    if hash.known[field] then
      fields[#fields + 1], fields[#fields + 2] = field, text(hash.known[field])
    end
  end
  if #fields > 0 then
    redis.call('HSET', hash.name, unpack(fields))
  end
  return fields
end
