-- The end of a hold: frees slot and hold, corrects the token windows of the admission's minute, learns the snapshot. Repeating it changes nothing.

local function free_hold(org, hold_id, record, tokens_used)
  local key_id, day, minute, tokens, amount = string.match(record, '^(.-)|(%d+)|(-?%d+)|(%d+)|(%d+)$')
  local key, more_tokens = key_of(org, key_id), tonumber(tokens_used) - tonumber(tokens)
  set(org.holds, hold_id, false)
  org.live = org.live - 1
  org.was_empty = org.was_empty or org.live == 0
  add(org, 'held', -tonumber(amount))
  add_held(org, 'held:' .. day, -tonumber(amount))
  add_held(key, 'held:' .. day, -tonumber(amount))
  if tonumber(get(org, 'minute')) == tonumber(minute) then
    add(org, 'tokens', more_tokens)
  end
  if get(key, 'incarnation') == org.shard.incarnation and tonumber(get(key, 'minute')) == tonumber(minute) then
    add(key, 'tokens', more_tokens)
  end
end

local function release(org, hold_id)
  local at = take_arguments(3)
  local epoch = ARGV[at + 2]
  if epoch ~= '' then
    take_arguments(7)
  end
  if not org.is_known then
    return { 'done' }
  end
  local record = get(org.holds, hold_id)
  if record then
    free_hold(org, hold_id, record, ARGV[at + 1])
  end
  if epoch ~= '' and epoch == get(org, 'epoch') then
    local key = key_of(org, ARGV[at])
    learn(org, get(key, 'incarnation') == org.shard.incarnation and key, at + 2)
  elseif epoch ~= '' then
    -- It cannot be kept, and its hold is freed all the same: whoever was told to read may have read before that charge.
    distrust(org)
  end
  return { 'done' }
end
