-- Fixed window. Formula, bound and units: fixed-window.ts, the twin of this file.
-- Key: STRING 'count:end', end in Unix ms.
-- Numbers: limit, span in ms, 1 if aligned.

local call, pcall = redis.call, redis.pcall
local floor, format, match = math.floor, string.format, string.match
local MAX_UNITS = 2 ^ 50

local function available(k)
  return k.count < k.limit and k.limit - k.count or 0
end

local function take(k, units)
  local count = k.count + units
  k.count = count < MAX_UNITS and count or MAX_UNITS
  k.dirty = true
  return available(k)
end

return {
  check = function(limit, span, aligned, us)
    local k = { limit = limit, span = span, now = floor(us / 1000), new = 0, count = 0, finish = 0, keep = false, dirty = false }
    k.new = aligned == 1 and (floor(k.now / span) + 1) * span or k.now + span
    return k
  end,

  read = function(k, key)
    local now = k.now
    local raw = pcall('GET', key)
    local running = false
    if raw then
      if type(raw) ~= 'string' or #raw > 34 then return nil end
      local count, finish = match(raw, '^(%d+):(%d+)$')
      if not count then return nil end
      running = finish + 0 > now
      if running then
        k.count = count + 0
        k.finish = finish + 0
      end
    end
    if not running then
      k.count = 0
      k.finish = k.new
    end
    k.dirty = k.finish - now > k.span
    if k.dirty then k.finish = k.new end
    k.keep = running and not k.dirty
    return available(k)
  end,

  take = take,

  refund = function(k, units, until_us)
    local same_window = not until_us or until_us >= k.finish * 1000
    if same_window and k.count > 0 then
      k.count = k.count > units and k.count - units or 0
      k.dirty = true
    end
    return available(k)
  end,

  reconcile = function(k, units, until_us)
    local until_ms = floor(until_us / 1000)
    if until_ms <= k.now then return available(k) end
    if k.count == 0 and until_ms < k.finish then k.finish = until_ms end
    return take(k, units)
  end,

  restore = function(k, used, until_us)
    local until_ms = floor(until_us / 1000)
    if until_ms <= k.now or until_ms - k.now > k.span then return available(k) end
    if used > MAX_UNITS then used = MAX_UNITS end
    local lost = k.count > 0 and until_ms < k.finish
    if lost or k.count == 0 then
      local count = k.count + used
      k.count = count < MAX_UNITS and count or MAX_UNITS
      k.finish = until_ms
      k.dirty = true
    elseif used > k.count then
      k.count = used
      k.dirty = true
    end
    return available(k)
  end,

  retry_after = function(k, cost)
    if cost > k.limit then return -1 end
    return k.count + cost > k.limit and k.finish - k.now or 0
  end,

  reset_after = function(k)
    return k.count > 0 and (k.finish - k.now) * 1000 or 0
  end,

  -- The TTL depends on the end alone, so it is written once a window; a lost one heals in the next window. A second to
  -- spare, because Redis counts it from when the script began.
  write = function(k, key, reset, slack)
    local value = format('%d:%d', k.count, k.finish)
    if k.keep then
      call('SET', key, value, 'KEEPTTL')
    else
      call('SET', key, value, 'PX', reset + 1000 + slack)
    end
  end,
}
