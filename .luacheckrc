-- Redis runs Lua 5.1 with these globals; a script may read them and set none of its own.
std = 'lua51'
read_globals = { 'redis', 'KEYS', 'ARGV', 'cjson', 'cmsgpack', 'bit', 'struct' }
max_line_length = 150

-- The driver runs below a line that lists the kernels of its script, in the order of the policies.
files['packages/core/src/stores/driver.lua'] = { read_globals = { 'kernels' } }
