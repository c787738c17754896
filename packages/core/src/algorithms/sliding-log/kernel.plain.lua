-- Requests of cost 1 for one policy: what sliding-log.lua and driver.lua do with them, with fewer functions and no table
-- of a key's state. It takes four fifths of the time. Arguments and reply: driver.lua.

local format = string.format
local limit, span, quantum = ARGV[3] + 0, ARGV[4] + 0, ARGV[5] + 0
local now = floor(us / 1000) - 1735689600000
local alive = now - span + 1
local new_tick = floor(now / quantum) * quantum + quantum - 1
local reply = { us, 0, 0, 0, 0 }
local at = 1

for i = 1, #KEYS do
  local key = KEYS[i]
  local tick, weight, sum = entry(key, -1)
  local ours = tick or not weight
  local first, first_tick, first_weight, first_sum = 0, nil, 0, 0
  local runs = tick and tick >= alive
  if runs then
    first_tick, first_weight, first_sum = entry(key, 0)
    if first_tick and first_tick < alive then
      first, first_tick, first_weight, first_sum = seek(key, 0, call('LLEN', key) - 1, false, alive)
    end
    ours = first_tick
  end

  local granted, left, wait, reset = -1, 0, 0, 0
  if ours then
    local gone, last_sum, last_tick = 0, 0, new_tick
    local dirty = false
    if runs then
      gone, last_sum, last_tick = (first_sum - first_weight) % ROUND, sum, tick
      if tick - now > span then
        gone, last_sum, last_tick = 0, (sum - gone) % ROUND, new_tick
        runs = false
        dirty = true
      end
    end
    granted = 0
    local used = (last_sum - gone) % ROUND
    if used < limit then
      granted = 1
      dirty = true
      if not runs or new_tick > last_tick then last_tick = new_tick end
      last_sum = (last_sum + 1) % ROUND
      used = used + 1
      left = limit - used
    end
    if left == 0 then
      local excess = used + 1 - limit
      local reaching = last_tick
      if runs and (first_sum - gone) % ROUND >= excess then
        reaching = first_tick
      elseif runs and (sum - gone) % ROUND >= excess and limit > 0 then
        local _, found = seek(key, first, call('LLEN', key) - 1, gone, excess)
        reaching = found
      end
      wait = limit > 0 and reaching and reaching + span - now or -1
      if not reaching then ours, granted, wait = false, -1, 0 end
    end
    if ours and used > 0 then reset = (last_tick + span - now) * 1000 end
    if dirty and ours and used == 0 then
      call('DEL', key)
    elseif dirty and ours then
      if not runs then
        if tick then call('DEL', key) end
        call('RPUSH', key, format('%d:%d:%d', last_tick, used, last_sum))
      else
        if first == 1 then call('LPOP', key) elseif first > 1 then call('LTRIM', key, first, -1) end
        if last_tick > tick then
          call('RPUSH', key, format('%d:1:%d', last_tick, last_sum))
        else
          call('LSET', key, -1, format('%d:%d:%d', last_tick, weight + 1, last_sum))
        end
      end
      local life = reset / 1000 + slack
      if call('PTTL', key) < life then call('PEXPIRE', key, life + floor(span / 8) + 1000) end
    end
  end
  reply[at + 1] = granted
  reply[at + 2] = left
  reply[at + 3] = wait
  reply[at + 4] = reset
  at = at + 4
end
return cmsgpack.pack(reply)
