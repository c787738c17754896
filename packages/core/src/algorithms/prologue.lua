-- What every script begins with: its mode, its time and, if that is injected, some slack: real time must then not delete
-- a key whose injected time has not come. The arguments are those of driver.lua.

local mode = ARGV[2]
local us, slack = ARGV[1], 600000
if us == '' then
  local time = redis.call('TIME')
  us = time[1] * 1000000 + time[2]
  slack = 0
else
  us = us + 0
end
