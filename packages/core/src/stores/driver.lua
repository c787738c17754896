-- The driver: many decisions of one plan (one list of policies) and one mode in one call. Twin of kernels/driver.ts.
-- `kernels`, the kernel of each policy, is put before it by stores/script.ts.
--
-- KEYS  group by group, a key for each policy; to refund, reset or raise, then a mark for each policy
-- ARGV  [1] now in microseconds, or '' for the server's clock
--       [2] mode: consume | peek | refund | charge | settle | raise | reset
--       three numbers for each policy (see the kernel)
--       then nothing, if each group is one request of cost 1, or group by group: how many equal requests it stands
--       for; a cost for each policy (to raise: the units that were seen in use); to refund, settle or raise, for
--       each policy until when (in us) they weigh, or ''; to raise, when (in us) they were seen
-- Reply one msgpack array of whole numbers: now in microseconds, then group by group: how many of its requests are
--       granted (-i: the i-th key holds something foreign; nothing of the group was changed), and for each policy:
--       units left, ms to wait (denied: until the cost fits; nothing left: until a unit is; -1: never), us to reset
--
-- A mark tells when a key was forgotten on purpose (a STRING, in us), so that raising it to what was seen before, which
-- is for keys that were lost, leaves it alone.
--
-- Groups run in order and see each other's writes. Within a group everything is read and judged before the first write,
-- so a full Redis, which refuses the first write of a script, leaves nothing half done.

local ceil, floor = math.ceil, math.floor
local mode = ARGV[2]
local policies = #kernels
local us, slack
if ARGV[1] == '' then
  local time = redis.call('TIME')
  us = time[1] * 1000000 + time[2]
  slack = 0
else
  -- Under an injected clock real time must not delete a key whose injected time has not come.
  us = ARGV[1] + 0
  slack = 600000
end

local function forget(key, mark)
  local life = redis.call('PTTL', key)
  redis.call('DEL', key)
  redis.call('SET', mark, string.format('%d', us), 'PX', life > 60000 and life or 60000)
end

local function forgotten_since(mark, seen)
  local raw = redis.pcall('GET', mark)
  return type(raw) == 'string' and (tonumber(raw) or 0) >= seen
end

local marked = mode == 'refund' or mode == 'raise' or mode == 'reset'
local bounded = mode == 'refund' or mode == 'raise' or mode == 'settle'
local stride = marked and 2 * policies or policies

if mode == 'reset' then
  for base = 1, #KEYS, stride do
    for i = base, base + policies - 1 do forget(KEYS[i], KEYS[i + policies]) end
  end
  return cmsgpack.pack({ us })
end

local checks, lefts, costs, untils = {}, {}, {}, {}
local argument = 3
for i = 1, policies do
  checks[i] = kernels[i].check(ARGV[argument] + 0, ARGV[argument + 1] + 0, ARGV[argument + 2] + 0)
  costs[i] = 1
  argument = argument + 3
end
local plain = argument > #ARGV
local judged = mode == 'consume' or mode == 'peek'
local count, seen = 1, 0
local reply = { us, 0, 0, 0, 0 }
local size = 1

for base = 0, #KEYS - stride, stride do
  if not plain then
    count = ARGV[argument] + 0
    for i = 1, policies do costs[i] = ARGV[argument + i] + 0 end
    argument = argument + 1 + policies
    if bounded then
      for i = 1, policies do untils[i] = tonumber(ARGV[argument + i - 1]) end
      argument = argument + policies
    end
    if mode == 'raise' then
      seen = ARGV[argument] + 0
      argument = argument + 1
    end
  end

  local granted = count
  for i = 1, policies do
    local left = kernels[i].read(checks[i], KEYS[base + i], us)
    if not left then
      granted = -i
      break
    end
    lefts[i] = left
    if judged and left < granted * costs[i] then granted = floor(left / costs[i]) end
  end
  if mode == 'peek' and granted > 0 then granted = count end
  reply[size + 1] = granted

  for i = 1, policies do
    local left, wait, reset = 0, 0, 0
    if granted >= 0 then
      local kernel, check = kernels[i], checks[i]
      local units = granted * costs[i]
      left = lefts[i]
      if units > 0 and mode ~= 'peek' then
        if not bounded then
          left = kernel.take(check, units)
        elseif mode == 'refund' then
          left = kernel.give_back(check, units, untils[i])
        elseif mode == 'settle' then
          left = kernel.settle(check, units, untils[i])
        elseif not forgotten_since(KEYS[base + policies + i], seen) then
          left = kernel.raise(check, units, untils[i])
        end
      end
      if granted < count then wait = kernel.retry_after(check, costs[i]) end
      if wait == 0 and left < 1 then wait = kernel.retry_after(check, 1) end
      reset = kernel.reset_after(check)
    end
    local at = size + 3 * i
    reply[at - 1] = left
    reply[at] = wait
    reply[at + 1] = reset
  end

  if granted >= 0 and mode ~= 'peek' then
    for i = 1, policies do
      if checks[i].dirty and costs[i] > 0 then
        local reset = ceil(reply[size + 3 * i + 1] / 1000)
        if reset > 0 then
          kernels[i].write(checks[i], KEYS[base + i], reset, slack)
        elseif marked then
          forget(KEYS[base + i], KEYS[base + policies + i])
        else
          redis.call('DEL', KEYS[base + i])
        end
      end
    end
  end
  size = size + 1 + 3 * policies
end
return cmsgpack.pack(reply)
