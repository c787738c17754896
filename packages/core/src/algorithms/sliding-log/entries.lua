-- Reads and searches the entries of a sliding log: what both of its Lua files begin with.

local call, pcall = redis.call, redis.pcall
local floor = math.floor
local match = string.match
local MAX_UNITS = 2 ^ 50
-- Sums are kept modulo this.
local ROUND = 2 * MAX_UNITS

-- The numbers of an entry. Of none, or one that is not ours: nil and what there is (false: nothing).
local function entry(key, index)
  local raw = pcall('LINDEX', key, index)
  if type(raw) ~= 'string' or #raw > 52 then return nil, raw end
  local tick, weight, sum = match(raw, '^(%d+):(%d+):(%d+)$')
  if not tick then return nil, raw end
  return tick + 0, weight + 0, sum + 0
end

-- The first entry after `low`, which is too early, and up to `high`, which is not, that has the `bound`-th of the units
-- after `floor_sum`, or, where that is false, a tick of at least `bound`: by doubling steps, then bisection. Nil if an
-- entry on the way is not ours.
local function seek(key, low, high, floor_sum, bound)
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
