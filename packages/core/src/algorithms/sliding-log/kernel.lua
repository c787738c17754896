-- Sliding log. Formula, bound and units: sliding-log.ts, the twin of this file.
-- Key: LIST of 'tick:weight:sum', oldest first, tick in ms since 2025. The weight of the first entry tells how many
-- units before its sum still count, so dead entries can be cut off without a sentinel.
-- Numbers: limit, span in ms, quantum in ms.

local max, min = math.max, math.min
local format = string.format
local EPOCH_MS = 1735689600000

local function used_of(k)
  return (k.last_sum - k.floor) % ROUND
end

local function available(k)
  local used = used_of(k)
  return used < k.limit and k.limit - used or 0
end

-- Forgets the entries: what is used, if anything, becomes one run that was taken now.
local function restart(k, used)
  k.runs = false
  k.floor = 0
  k.last_tick = k.tick
  k.last_sum = used
  return available(k)
end

local function reaches_back_to(k, tick, used)
  if k.first_tick ~= tick or tick ~= k.tick then return k.first_tick <= tick end
  return used_of(k) >= min(used, MAX_UNITS)
end

local function take_at(k, units, tick)
  local added = min(units, MAX_UNITS - used_of(k))
  if added <= 0 then return available(k) end
  if not k.runs or tick > k.last_tick then k.last_tick = tick end
  k.last_sum = (k.last_sum + added) % ROUND
  k.dirty = true
  return available(k)
end

-- The tick of what weighs until then; never ahead of what is taken now, nor before the origin of times.
local function tick_until(k, until_us)
  return max(0, min(floor(until_us / 1000) - EPOCH_MS - k.span, k.tick))
end

return {
  check = function(limit, span, quantum, us)
    local now = floor(us / 1000) - EPOCH_MS
    return {
      limit = limit, span = span, quantum = quantum, now = now, alive = now - span + 1,
      tick = floor(now / quantum) * quantum + quantum - 1, key = false, stored = false, runs = false, first = 0,
      first_tick = 0, first_sum = 0, stored_tick = 0, stored_weight = 0, stored_sum = 0, floor = 0, last_tick = 0,
      last_sum = 0, older_tick = false, older_sum = 0, dirty = false,
    }
  end,

  read = function(k, key)
    local now, alive = k.now, k.alive
    k.key = key
    k.older_tick = false
    k.dirty = false
    local tick, weight, sum = entry(key, -1)
    if not tick and weight then return nil end
    k.stored = tick and true
    if not tick or tick < alive then return restart(k, 0) end
    k.stored_tick = tick
    k.stored_weight = weight
    k.stored_sum = sum
    local first, first_tick, first_weight, first_sum = 0, entry(key, 0)
    if not first_tick then return nil end
    if first_tick < alive then
      first, first_tick, first_weight, first_sum = seek(key, 0, call('LLEN', key) - 1, false, alive)
      if not first then return nil end
    end
    k.runs = true
    k.first = first
    k.first_tick = first_tick
    k.first_sum = first_sum
    k.floor = (first_sum - first_weight) % ROUND
    k.last_tick = tick
    k.last_sum = sum
    if tick - now <= k.span then return available(k) end
    restart(k, used_of(k))
    k.dirty = true
    return available(k)
  end,

  take = function(k, units)
    return take_at(k, units, k.tick)
  end,

  refund = function(k, units, until_us)
    local used = used_of(k)
    if used > 0 and (not until_us or floor(until_us / 1000) - EPOCH_MS > k.now) then
      local back = min(units, used)
      -- The entries up to the floor go. Looked up here, for nothing has been written yet if one is not ours.
      if k.runs and back < used and (k.first_sum - k.floor) % ROUND <= back then
        local first, tick, _, sum = seek(k.key, k.first, call('LLEN', k.key) - 1, k.floor, back + 1)
        if not first then return nil end
        k.first, k.first_tick, k.first_sum = first, tick, sum
      end
      k.floor = (k.floor + back) % ROUND
      k.dirty = true
    end
    return available(k)
  end,

  reconcile = function(k, units, until_us)
    local tick = tick_until(k, until_us)
    return tick + k.span > k.now and take_at(k, units, tick) or available(k)
  end,

  restore = function(k, used, until_us)
    local tick = tick_until(k, until_us)
    if tick + k.span <= k.now or used == 0 then return available(k) end
    if not k.runs then
      -- Also of a run that is healed and full, to which nothing is added: a second restore has to find it there.
      k.last_tick = tick
      return take_at(k, used, tick)
    end
    local room = MAX_UNITS - used_of(k)
    if room <= 0 or reaches_back_to(k, tick, used) then return available(k) end
    k.older_tick = tick
    k.older_sum = k.floor
    k.floor = (k.floor - min(used, room)) % ROUND
    k.dirty = true
    return available(k)
  end,

  retry_after = function(k, cost)
    if cost > k.limit then return -1 end
    local excess = used_of(k) + cost - k.limit
    if excess <= 0 then return 0 end
    local tick = k.last_tick
    if k.older_tick and excess <= (k.older_sum - k.floor) % ROUND then
      tick = k.older_tick
    elseif k.runs and (k.first_sum - k.floor) % ROUND >= excess then
      tick = k.first_tick
    elseif k.runs and (k.stored_sum - k.floor) % ROUND >= excess then
      local _, reaching = seek(k.key, k.first, call('LLEN', k.key) - 1, k.floor, excess)
      if not reaching then return nil end
      tick = reaching
    end
    return tick + k.span - k.now
  end,

  reset_after = function(k)
    return used_of(k) > 0 and (k.last_tick + k.span - k.now) * 1000 or 0
  end,

  -- The TTL is written with an eighth of a span to spare, and again only when it has become too short.
  write = function(k, key, reset, slack)
    local first = k.first
    if k.older_tick then
      if first > 0 then call('LTRIM', key, first, -1) end
      call('LPUSH', key, format('%d:%d:%d', k.older_tick, (k.older_sum - k.floor) % ROUND, k.older_sum))
    elseif not k.runs then
      if k.stored then call('DEL', key) end
      call('RPUSH', key, format('%d:%d:%d', k.last_tick, used_of(k), k.last_sum))
    else
      if first == 1 then call('LPOP', key) elseif first > 1 then call('LTRIM', key, first, -1) end
      if k.last_sum == k.stored_sum then
        call('LSET', key, 0, format('%d:%d:%d', k.first_tick, (k.first_sum - k.floor) % ROUND, k.first_sum))
      elseif k.last_tick > k.stored_tick then
        call('RPUSH', key, format('%d:%d:%d', k.last_tick, (k.last_sum - k.stored_sum) % ROUND, k.last_sum))
      else
        local weight = k.stored_weight + (k.last_sum - k.stored_sum) % ROUND
        call('LSET', key, -1, format('%d:%d:%d', k.last_tick, weight, k.last_sum))
      end
    end
    if call('PTTL', key) < reset + slack then
      call('PEXPIRE', key, reset + floor(k.span / 8) + 1000 + slack)
    end
  end,
}
