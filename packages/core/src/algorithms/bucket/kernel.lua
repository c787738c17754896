-- Token bucket, GCRA and leaky bucket. Formula, bound and units: bucket.ts, the twin of this file.
-- Key: STRING, the theoretical arrival time as a whole number of ticks (eighths of a microsecond since 2025).
-- Numbers: price, capacity, reach.

local call, pcall = redis.call, redis.pcall
local ceil, floor = math.ceil, math.floor
local find, format = string.find, string.format
local EPOCH_MS = 1735689600000
-- 8.192 s.
local CELL = 65536000
-- An `until` is rounded up by less than 2 us, if the price is no whole number of them.
local ROUNDED = 16

local function ticks_at(us)
  return (us - EPOCH_MS * 1000) * 8
end

-- Puts the TAT later, as far as a charge may.
local function move_to(k, tat)
  local furthest = k.now + 2 * k.span
  if tat > furthest then tat = furthest end
  if tat <= k.tat then return end
  k.tat = tat
  k.dirty = true
end

local function available(k)
  local used = k.tat - k.now
  if used < k.span then return floor((k.span - used) / k.price) end
  return 0
end

return {
  check = function(price, capacity, reach, us)
    local now = ticks_at(us)
    return {
      price = price, capacity = capacity, span = capacity * price, reach = reach, now = now, tat = now, stored = false,
      dirty = false,
    }
  end,

  read = function(k, key)
    local now = k.now
    local raw = pcall('GET', key)
    local tat = now
    k.stored = false
    if raw then
      -- Only what INCRBY takes too: no sign but minus, no leading zero, at most 16 digits.
      if type(raw) ~= 'string' or #raw > 17 or not (find(raw, '^%-?[1-9]%d*$') or raw == '0') then return nil end
      tat = raw + 0
      k.stored = tat
    end
    if tat < now then tat = now end
    k.dirty = tat - now > k.reach
    if k.dirty then tat = now + k.span end
    k.tat = tat
    return available(k)
  end,

  take = function(k, units)
    move_to(k, k.tat + units * k.price)
    return available(k)
  end,

  refund = function(k, units, until_us, charged_us)
    local back = units * k.price
    if charged_us then
      local drained = k.now - ticks_at(charged_us)
      if drained > 0 then back = drained < back and back - drained or 0 end
    end
    if until_us then
      local until_ticks = ticks_at(until_us)
      local weighs = (until_ticks < k.tat and until_ticks or k.tat) - k.now
      if weighs < back then
        if until_ticks < k.tat and k.price % 8 > 0 then weighs = weighs - ROUNDED end
        back = weighs > 0 and weighs or 0
      end
    end
    local tat = k.tat - back
    if back > 0 and k.tat > k.now then
      k.tat = tat > k.now and tat or k.now
      k.dirty = true
    end
    return available(k)
  end,

  reconcile = function(k, units, until_us)
    local weighs = ticks_at(until_us) - k.now
    local ticks = units * k.price
    move_to(k, k.tat + (ticks < weighs and ticks or weighs))
    return available(k)
  end,

  restore = function(k, _, until_us)
    local until_ticks = ticks_at(until_us)
    -- Nearer than that is what `until` was rounded up by.
    if until_ticks - k.tat > ROUNDED then move_to(k, until_ticks) end
    return available(k)
  end,

  retry_after = function(k, cost)
    if cost > k.capacity then return -1 end
    local wait = k.tat - k.now + cost * k.price - k.span
    return wait > 0 and ceil(wait / 8000) or 0
  end,

  reset_after = function(k)
    return ceil((k.tat - k.now) / 8)
  end,

  -- INCRBY keeps the TTL and is cheaper than SET PX, so the TTL is written only when the TAT enters another cell of 8.192 s:
  -- it is then longer by a cell, so it outlives whatever lies in this one. Numbers are formatted here because Redis
  -- would print them with %.17g, which takes 100 ns longer.
  write = function(k, key, reset, slack)
    local tat, stored = k.tat, k.stored
    if stored and stored - stored % CELL == tat - tat % CELL then
      call('INCRBY', key, format('%d', tat - stored))
    else
      call('SET', key, format('%d', tat), 'PX', format('%d', reset + 8192 + slack))
    end
  end,
}
