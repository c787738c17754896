-- The driver: many decisions of one policy set (one list of policies) and one mode in one call. Twin of driver.ts.
-- prologue.lua and `kernels`, the kernel of each policy, are put before it by redis/transport/script.ts.
--
-- KEYS  group by group, a key for each policy; to refund, reset or restore, then a mark for each policy
-- ARGV  [1] now in microseconds, or '' for the server's clock
--       [2] mode: consume | peek | refund | penalty | reconcile | restore | reset
--       three numbers for each policy (see the kernel)
--       then nothing, if each group is one request of cost 1, or group by group: how many equal requests it stands
--       for; a cost for each policy (to restore: the units that were seen in use); to refund, reconcile or restore, for
--       each policy until when (in us) they weigh, or ''; to refund or restore, when (in us) they were charged or seen, or ''
-- Reply one msgpack array of whole numbers: now in microseconds, then group by group: how many of its requests are
--       granted (-i: the i-th key holds something foreign; nothing of the group was changed; to restore, 0: nothing was
--       lost), and for each policy: units left, ms to wait (denied: until the cost fits; nothing left: until a unit
--       is; -1: never; to restore, -1 also: it was forgotten on purpose since), us to reset
--
-- A mark (STRING 'forgotten:given', in us) tells when a key was last forgotten on purpose, and when units were last given
-- back to it. What was seen before that is not restored, for that is for keys that were lost; and what was charged until
-- a key was forgotten is not given back, for it would be the units of others.
--
-- Groups run in order and see each other's writes. Within a group everything is read and judged before the first write,
-- so a full Redis, which refuses the first write of a script, leaves nothing half done.

local ceil, floor, max = math.ceil, math.floor, math.max
local policies = #kernels

local marked = mode == 'refund' or mode == 'restore' or mode == 'reset'
local bounded = mode == 'refund' or mode == 'restore' or mode == 'reconcile'
local judged = mode == 'consume' or mode == 'peek'
local changing = mode ~= 'peek'
local stride = marked and 2 * policies or policies

local checks, lefts, costs, untils = {}, {}, {}, {}
local argument = 3
for i = 1, policies do
  checks[i] = kernels[i].check(ARGV[argument] + 0, ARGV[argument + 1] + 0, ARGV[argument + 2] + 0, us)
  costs[i] = 1
  argument = argument + 3
end
local plain = argument > #ARGV
local count, seen = 1, nil
local reply = { us, 0, 0, 0, 0 }
local size = 1

local giving_back, set_mark
if marked then
  local lives, forgottens = {}, {}

  -- What a refund or a restore makes of a policy: the units left; nil: the key holds something foreign. And what is told
  -- as a wait.
  giving_back = function(i, mark, units)
    local kernel, check = kernels[i], checks[i]
    local raw = redis.pcall('GET', mark)
    local forgotten, given
    if type(raw) == 'string' then forgotten, given = string.match(raw, '^(%d+):(%d+)$') end
    forgottens[i] = tonumber(forgotten) or 0
    if mode == 'restore' then
      if given and given + 0 >= (seen or 0) then return lefts[i], seen and -1 or 0 end
      return kernel.restore(check, units, untils[i]), 0
    end
    lives[i] = ceil(kernel.reset_after(check) / 1000) + 1000
    if seen and forgottens[i] >= seen then return lefts[i], 0 end
    return kernel.refund(check, units, untils[i], seen and given and given + 0 >= seen and seen), 0
  end

  -- Lives as long as anything that was seen before may be restored: as long as what was in use weighs; of a key that was
  -- lost already nobody knows.
  set_mark = function(i, mark, forgotten)
    local life = lives[i] or ceil(kernels[i].reset_after(checks[i]) / 1000) + 1000
    if forgotten and life < 60000 then life = 60000 end
    life = max(redis.call('PTTL', mark), life + slack)
    local value = string.format('%d:%d', max(forgotten or 0, forgottens[i] or 0), us)
    redis.call('SET', mark, value, 'PX', string.format('%d', life))
  end
end

for base = 0, #KEYS - stride, stride do
  if not plain then
    count = ARGV[argument] + 0
    for i = 1, policies do costs[i] = ARGV[argument + i] + 0 end
    argument = argument + 1 + policies
    if bounded then
      for i = 1, policies do untils[i] = tonumber(ARGV[argument + i - 1]) end
      argument = argument + policies
    end
    if mode == 'refund' or mode == 'restore' then
      seen = tonumber(ARGV[argument])
      argument = argument + 1
    end
  end

  local granted = count
  for i = 1, policies do
    local left = kernels[i].read(checks[i], KEYS[base + i])
    if not left then
      granted = -i
      break
    end
    lefts[i] = left
    if judged and left < granted * costs[i] then granted = floor(left / costs[i]) end
  end
  if mode == 'peek' and granted > 0 then granted = count end

  for i = 1, policies do
    local left, wait, reset = 0, 0, 0
    if granted >= 0 then
      local kernel, check = kernels[i], checks[i]
      local units = granted * costs[i]
      left = lefts[i]
      if units > 0 and changing then
        if not bounded then
          left = kernel.take(check, units)
        elseif mode == 'reconcile' then
          left = kernel.reconcile(check, units, untils[i])
        elseif mode ~= 'reset' then
          left, wait = giving_back(i, KEYS[base + policies + i], units)
        end
      end
      if left and granted < count and costs[i] > 0 then wait = kernel.retry_after(check, costs[i]) end
      if left and wait == 0 and left < 1 then wait = kernel.retry_after(check, 1) end
      if not left or not wait then
        granted, left, wait = -i, 0, 0
      else
        reset = kernel.reset_after(check)
      end
    end
    local at = size + 3 * i
    reply[at - 1] = left
    reply[at] = wait
    reply[at + 1] = reset
  end
  reply[size + 1] = granted

  if granted >= 0 and changing then
    local restored = 0
    for i = 1, policies do
      local check = checks[i]
      if mode == 'reset' then
        redis.call('DEL', KEYS[base + i])
        set_mark(i, KEYS[base + policies + i], us)
      elseif check.dirty and costs[i] > 0 then
        local reset = reply[size + 3 * i + 1]
        if reset > 0 then
          kernels[i].write(check, KEYS[base + i], ceil(reset / 1000), slack)
        else
          redis.call('DEL', KEYS[base + i])
        end
        restored = 1
        -- What is charged in the instant of a refund is charged after it.
        if mode == 'refund' then set_mark(i, KEYS[base + policies + i], reset == 0 and us - 1) end
      end
    end
    if mode == 'restore' then reply[size + 1] = restored end
  end
  size = size + 1 + 3 * policies
end
return cmsgpack.pack(reply)
