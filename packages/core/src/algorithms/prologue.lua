-- What every script begins with: functions and constants for the kernels and the driver, the mode,
-- the time and, if that is injected, some slack: real time must then not delete a key whose
-- injected time has not come. The arguments are those of driver.lua.

local call, pcall = redis.call, redis.pcall
local ceil, floor, huge, max, min = math.ceil, math.floor, math.huge, math.max, math.min
local find, format, match = string.find, string.format, string.match
local EPOCH_MS = 1735689600000
local MAX_UNITS = 2 ^ 50

local mode = ARGV[2]
local us, slack = ARGV[1], 600000
if us == '' then
  local time = call('TIME')
  us = time[1] * 1000000 + time[2]
  slack = 0
else
  us = us + 0
end
