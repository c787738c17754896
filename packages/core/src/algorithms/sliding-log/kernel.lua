-- Sliding log. Formula, bound and units: kernel.ts, the twin of this file.
-- The build adds the list of functions, with the mode's own as `special`.
-- Key: LIST of 'tick:weight:sum', oldest first, tick in ms since 2025. The weight of the first
-- entry says how many units before its sum still count, so dead entries can be cut off without a
-- sentinel.

-- Sums are kept modulo this.
local ROUND = 2 * MAX_UNITS

-- The numbers of an entry. For a missing entry, or one that is not ours: nil, and what is there
-- (false: nothing).
local function entry(key, index)
  local raw = pcall('LINDEX', key, index)
  if type(raw) ~= 'string' or #raw > 52 then return nil, raw end
  local tick, weight, sum = match(raw, '^(%d+):(%d+):(%d+)$')
  if not tick then return nil, raw end
  return tick + 0, weight + 0, sum + 0
end

-- Finds the first entry that has the `bound`-th of the units after `floor_sum` or, where that is
-- false, a tick of at least `bound`. The entry at `low` is too early; the last one is not. Searches
-- by doubling steps, then by bisection. Nil if an entry on the way is not ours.
local function seek(key, low, floor_sum, bound)
  local high = call('LLEN', key) - 1
  local step = 1
  local tick, weight, sum
  while low + 1 < high do
    local middle = low + step
    if middle >= high then middle = floor((low + high) / 2) end
    local t, w, s = entry(key, middle)
    if not t then return nil end
    if (floor_sum and (s - floor_sum) % ROUND or t) >= bound then
      high, tick, weight, sum = middle, t, w, s
      step = high
    else
      low = middle
      step = step * 2
    end
  end
  if not tick then tick, weight, sum = entry(key, high) end
  if not tick then return nil end
  return high, tick, weight, sum
end

-- The tick of units that count until a time; never ahead of the tick of units taken now, nor before
-- the origin of times.
local function tick_of(until_us, span, new_tick)
  return max(0, min(floor(until_us / 1000) - EPOCH_MS - span, new_tick))
end

return function(limit, span, quantum)
  local now = floor(us / 1000) - EPOCH_MS
  local alive = now - span + 1
  local new_tick = floor(now / quantum) * quantum + quantum - 1
  local cell = floor(span / 8) + 1000
  -- The last entry and the first live one. `runs`: there is a live one, and it stays. `gone`: units
  -- up to this sum no longer count.
  local list, stored_tick, stored_weight, stored_sum, runs, first, first_tick, first_sum
  local gone, last_tick, last_sum, dirty

  local function read(key)
    list = key
    runs, dirty = false, false
    first, gone, last_tick, last_sum = 0, 0, new_tick, 0
    stored_tick, stored_weight, stored_sum = entry(key, '-1')
    local ours = stored_tick or not stored_weight
    if stored_tick and stored_tick >= alive then
      local weight
      first_tick, weight, first_sum = entry(key, '0')
      if first_tick and first_tick < alive then
        first, first_tick, weight, first_sum = seek(key, 0, false, alive)
      end
      ours = first_tick
      if ours then
        gone, last_tick, last_sum = (first_sum - weight) % ROUND, stored_tick, stored_sum
        runs = last_tick - now <= span
        if not runs then
          gone, last_tick, last_sum = 0, new_tick, (last_sum - gone) % ROUND
          dirty = true
        end
      end
    end
    return ours
  end

  local function used()
    return (last_sum - gone) % ROUND
  end

  -- Takes units at a tick, or now.
  local function take(units, at)
    local tick = at or new_tick
    local room = MAX_UNITS - (last_sum - gone) % ROUND
    local added = units < room and units or room
    if added > 0 then
      if not runs or tick > last_tick then last_tick = tick end
      last_sum = (last_sum + added) % ROUND
      dirty = true
    end
  end

  -- Nil: an entry is not ours.
  local function retry_after(cost)
    local excess = (last_sum - gone) % ROUND + cost - limit
    local tick, _ = last_tick
    if runs and (first_sum - gone) % ROUND >= excess then
      tick = first_tick
    elseif runs and (stored_sum - gone) % ROUND >= excess then
      _, tick = seek(list, first, gone, excess)
    end
    return tick and tick + span - now
  end

  local function reset_after()
    return (last_sum - gone) % ROUND > 0 and (last_tick + span - now) * 1000 or 0, dirty
  end

  -- The TTL is written only when the last tick enters another cell, of an eighth of a span and a
  -- second: the TTL is then a cell longer, so it outlives whatever comes in this cell. It has a
  -- second to spare, because Redis counts it from when the script began.
  local function write(key, reset)
    if not runs then
      if stored_tick then call('DEL', key) end
      call('RPUSH', key, format('%d:%d:%d', last_tick, (last_sum - gone) % ROUND, last_sum))
    else
      if first == 1 then call('LPOP', key) elseif first > 1 then call('LTRIM', key, first, -1) end
      if last_sum == stored_sum then
        local weight = (first_sum - gone) % ROUND
        call('LSET', key, '0', format('%d:%d:%d', first_tick, weight, first_sum))
      elseif last_tick > stored_tick then
        call('RPUSH', key, format('%d:%d:%d', last_tick, (last_sum - stored_sum) % ROUND, last_sum))
      else
        local weight = (stored_weight + last_sum - stored_sum) % ROUND
        call('LSET', key, '-1', format('%d:%d:%d', last_tick, weight, last_sum))
      end
    end
    if not runs or stored_tick - stored_tick % cell ~= last_tick - last_tick % cell then
      call('PEXPIRE', key, format('%d', reset / 1000 + cell + 1000 + slack))
    end
  end

  -- False: an entry is not ours.
  local function give_back(units)
    local in_use = (last_sum - gone) % ROUND
    local back = min(units, in_use)
    -- The entries up to the floor go. They are looked up here, so that nothing has been written yet
    -- if one is not ours.
    if runs and back < in_use and (first_sum - gone) % ROUND <= back then
      local _
      first, first_tick, _, first_sum = seek(list, first, gone, back + 1)
    end
    gone = (gone + back) % ROUND
    dirty = back > 0 or dirty
    return first ~= nil
  end

  -- The tick of units that are taken as if at that time.
  local function ahead(until_us)
    return floor((floor(until_us / 1000) - EPOCH_MS) / quantum) * quantum + quantum - 1
  end

  local function cancel(units, until_us)
    local is_last = runs and floor(until_us / 1000) - EPOCH_MS - span == stored_tick
    if not is_last or units >= min(stored_weight, (last_sum - gone) % ROUND) then
      return give_back(units)
    end
    last_sum = (last_sum - units) % ROUND
    dirty = true
  end

  local function refund(units)
    return give_back(units)
  end

  local function reconcile(units, until_us)
    take(units, tick_of(until_us, span, new_tick))
  end

  local function restore(seen, until_us, base)
    local tick = tick_of(until_us, span, new_tick)
    local known = base or runs and first_tick > tick and 0 or (last_sum - gone) % ROUND
    if seen > known then take(seen - known, tick) end
    return max(known, seen)
  end
end
