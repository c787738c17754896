-- Token bucket, GCRA and leaky bucket. Formula, bound and units: kernel.ts, the twin of this file.
-- The build adds the list of functions, with the mode's own as `special`.
-- Key: STRING, the theoretical arrival time as a whole number of ticks (eighths of a microsecond
-- since 2025).

-- 8.192 s.
local CELL = 65536000
-- An `until` is rounded up by less than 2 us, unless the price is a whole number of us.
local ROUNDED = 16

return function(limit, full, wait)
  local price = limit > 0 and ceil(full / limit) or 1
  local span = limit * price
  local reach = span + wait + span / 50 + 24240
  local now = (us - EPOCH_MS * 1000) * 8
  local tat, stored, dirty

  -- Only the driver calls it: the loop for plain requests makes no functions.
  local function ticks_at(at_us)
    return (at_us - EPOCH_MS * 1000) * 8
  end

  local function read(key)
    local raw = pcall('GET', key)
    -- Only a number that INCRBY accepts and a double holds: no sign but minus, no leading zero.
    -- Formatting the number again takes half as long as matching a pattern.
    stored = tonumber(raw)
    local ours = not raw or (stored and #raw <= 17 and raw == format('%d', stored))
    tat = stored and stored > now and stored or now
    dirty = tat - now > reach
    if dirty then tat = now + span end
    return ours
  end

  local function used()
    return ceil((tat - now) / price)
  end

  -- Moves the TAT later, by the price of the units or to `to`, but at most a span and the wait
  -- ahead of now.
  local function take(units, to)
    local moved = to or tat + units * price
    local furthest = now + span + wait
    if moved > furthest then moved = furthest end
    if moved > tat then
      tat = moved
      dirty = true
    end
  end

  local function retry_after(cost)
    return ceil((tat - now + cost * price - span) / 8000)
  end

  local function reset_after()
    return ceil((tat - now) / 8), dirty
  end

  -- INCRBY keeps the TTL and is cheaper than SET PX, so the TTL is written only when the TAT enters
  -- another cell of 8.192 s. It is then a cell longer, so it outlives any TAT in this cell.
  local function write(key, reset)
    if stored and stored - stored % CELL == tat - tat % CELL then
      call('INCRBY', key, format('%d', tat - stored))
    else
      call('SET', key, format('%d', tat), 'PX', format('%d', ceil(reset / 1000) + 8192 + slack))
    end
  end

  local function within(ms)
    local ticks = ms * 8000
    return floor((span + (ticks < wait and ticks or wait) - (tat - now)) / price)
  end

  local function ahead(until_us)
    tat = max(tat, ticks_at(until_us))
  end

  local function cancel(units, until_us)
    if ticks_at(until_us) >= tat and tat > now then
      tat = max(tat - units * price, now)
      dirty = true
    end
  end

  local function refund(units, until_us, charged_us)
    local back = units * price
    if charged_us then
      local drained = now - ticks_at(charged_us)
      if drained > 0 then back = drained < back and back - drained or 0 end
    end
    local until_ticks = ticks_at(until_us)
    local counts = (until_ticks < tat and until_ticks or tat) - now
    if counts < back then
      if until_ticks < tat and price % 8 > 0 then counts = counts - ROUNDED end
      back = counts > 0 and counts or 0
    end
    if back > 0 and tat > now then
      tat = max(tat - back, now)
      dirty = true
    end
  end

  local function reconcile(units, until_us)
    take(units, tat + min(units * price, ticks_at(until_us) - now))
  end

  local function restore(seen, until_us, base)
    local known = max(base or tat, now)
    local missing = seen > 0 and ticks_at(until_us) - known or 0
    -- A smaller difference is the rounding of `until`.
    if missing <= ROUNDED then return known end
    take(0, tat + missing)
    return known + missing
  end
end
