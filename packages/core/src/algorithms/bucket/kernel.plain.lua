-- Requests of cost 1 for one policy: what bucket.lua and driver.lua do with them, without functions and tables. It takes
-- two thirds of the time. Arguments and reply: driver.lua.

local call, pcall = redis.call, redis.pcall
local ceil, floor = math.ceil, math.floor
local find, format = string.find, string.format
local CELL = 65536000
local price, capacity, reach = ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0
local span = capacity * price
local now = (us - 1735689600000 * 1000) * 8
local reply = { us, 0, 0, 0, 0 }
local at = 1

for i = 1, #KEYS do
  local key = KEYS[i]
  local granted, left, wait, reset = -1, 0, 0, 0
  local raw = pcall('GET', key)
  if not raw or (type(raw) == 'string' and #raw <= 17 and (find(raw, '^%-?[1-9]%d*$') or raw == '0')) then
    local stored = raw and raw + 0
    local tat = stored and stored > now and stored or now
    local dirty = tat - now > reach
    if dirty then tat = now + span end
    granted = 0
    local used = tat - now
    if span - used >= price then
      granted = 1
      dirty = true
      tat = tat + price
      used = tat - now
      if used < span then left = floor((span - used) / price) end
    end
    if left == 0 then wait = capacity > 0 and ceil((used + price - span) / 8000) or -1 end
    reset = ceil(used / 8)
    if dirty and reset == 0 then
      call('DEL', key)
    elseif dirty and stored and stored - stored % CELL == tat - tat % CELL then
      call('INCRBY', key, format('%d', tat - stored))
    elseif dirty then
      call('SET', key, format('%d', tat), 'PX', format('%d', ceil(reset / 1000) + 8192 + slack))
    end
  end
  reply[at + 1] = granted
  reply[at + 2] = left
  reply[at + 3] = wait
  reply[at + 4] = reset
  at = at + 4
end
return cmsgpack.pack(reply)
