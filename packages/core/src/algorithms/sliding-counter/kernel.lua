-- Sliding counter. Formula, bound and units: sliding-counter.ts, the twin of this file.
-- Key: STRING 'start:previous:current', start in Unix ms.
-- Numbers: limit, span in ms, 0.

local call, pcall = redis.call, redis.pcall
local ceil, floor, min = math.ceil, math.floor, math.min
local format, match = string.format, string.match
local function available(k)
  local elapsed = k.now > k.start and k.now - k.start or 0
  local used = k.current + ceil(k.previous * (k.span - elapsed) / k.span)
  return used < k.limit and k.limit - used or 0
end

local function take(k, units)
  local current = k.current + units
  k.current = current < k.most and current or k.most
  k.dirty = true
  return available(k)
end

return {
  check = function(limit, span, _, us)
    local now = floor(us / 1000)
    return {
      limit = limit, span = span, most = floor(2 ^ 53 / span), now = now, running = floor(now / span) * span,
      start = 0, previous = 0, current = 0, stored = false, dirty = false,
    }
  end,

  read = function(k, key)
    local span, most, running = k.span, k.most, k.running
    local raw = pcall('GET', key)
    local start, previous, current = running, 0, 0
    k.dirty = false
    k.stored = raw and true
    if raw then
      if type(raw) ~= 'string' or #raw > 50 then return nil end
      local s, p, c = match(raw, '^(%d+):(%d+):(%d+)$')
      if not s then return nil end
      start = s + 0
      previous = min(p + 0, most)
      current = min(c + 0, most)
      if start < running then
        previous = start == running - span and current or 0
        current = 0
        start = running
      elseif start > running + 2 * span then
        current = min(previous + current, most)
        previous = 0
        start = running
        k.dirty = true
      end
    end
    k.start = start
    k.previous = previous
    k.current = current
    return available(k)
  end,

  take = take,

  refund = function(k, units, until_us)
    local until_ms = until_us and floor(until_us / 1000)
    local of_current = not until_ms or until_ms > k.start + k.span
    local of_previous = not until_ms or (not of_current and until_ms > k.start)
    local from_current = of_current and min(units, k.current) or 0
    local from_previous = of_previous and min(units - from_current, k.previous) or 0
    if from_current + from_previous > 0 then
      k.current = k.current - from_current
      k.previous = k.previous - from_previous
      k.dirty = true
    end
    return available(k)
  end,

  reconcile = function(k, units, until_us)
    local until_ms = floor(until_us / 1000)
    if until_ms > k.start + k.span then return take(k, units) end
    if until_ms > k.start then
      k.previous = min(k.previous + units, k.most)
      k.dirty = true
    end
    return available(k)
  end,

  restore = function(k, used, until_us)
    local start = floor(until_us / 1000) - 2 * k.span
    local seen = min(used, k.most)
    local counted = k.current + k.previous
    if start == k.start and seen > counted then
      k.current = k.current + seen - counted
      k.dirty = true
    elseif start == k.start - k.span and k.previous == 0 then
      k.previous = seen
      k.dirty = true
    end
    return available(k)
  end,

  retry_after = function(k, cost)
    if cost > k.limit then return -1 end
    local room = k.limit - cost - k.current
    if room < 0 then return k.start + 2 * k.span - floor((k.limit - cost) * k.span / k.current) - k.now end
    if k.previous <= room then return 0 end
    local wait = k.start + k.span - floor(room * k.span / k.previous) - k.now
    return wait > 0 and wait or 0
  end,

  reset_after = function(k)
    if k.current > 0 then return (k.start + 2 * k.span - k.now) * 1000 end
    return k.previous > 0 and (k.start + k.span - k.now) * 1000 or 0
  end,

  -- The TTL is written with an eighth of a span to spare, and again only when it has become too short.
  write = function(k, key, reset, slack)
    local value = format('%d:%d:%d', k.start, k.previous, k.current)
    if k.stored and call('PTTL', key) >= reset + slack then
      call('SET', key, value, 'KEEPTTL')
    else
      call('SET', key, value, 'PX', reset + floor(k.span / 8) + 1000 + slack)
    end
  end,
}
