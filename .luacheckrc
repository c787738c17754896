-- Redis runs Lua 5.1 with these globals; a script may read them and set none of its own.
std = 'lua51'
read_globals = { 'redis', 'KEYS', 'ARGV', 'cjson', 'cmsgpack', 'bit', 'struct' }
max_line_length = 150

-- What prologue.lua and sliding-log.entries.lua set, and a line that lists the kernels of a script in the order of its policies, stand above the rest.
files['packages/core/src/stores/prologue.lua'] = { unused = false }
files['packages/core/src/kernels/sliding-log.entries.lua'] = { unused = false }
files['packages/core/src/kernels/sliding-log.lua'] = { read_globals = { 'call', 'floor', 'entry', 'seek', 'MAX_UNITS', 'ROUND' } }
files['packages/core/src/kernels/*.plain.lua'] = { read_globals = { 'us', 'slack' } }
files['packages/core/src/kernels/sliding-log.plain.lua'] = { read_globals = { 'us', 'slack', 'call', 'floor', 'entry', 'seek', 'ROUND' } }
files['packages/core/src/stores/driver.lua'] = { read_globals = { 'kernels', 'mode', 'us', 'slack' } }
