-- Run this once, before the first process starts.
CREATE TABLE IF NOT EXISTS weir_counters (
  -- Printable ASCII of at most 500 characters: limiter, policy, and who is limited.
  key text COLLATE "C" PRIMARY KEY,
  -- The state of a counter: whole numbers.
  numbers json NOT NULL,
  -- Until when they matter, in ms since the Unix epoch.
  until_ms bigint NOT NULL
)
-- Room on each page for new versions of its rows, so that an update leaves the index as it is.
WITH (fillfactor = 50);
