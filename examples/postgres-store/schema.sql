-- Run this once, before the first process starts.
CREATE TABLE IF NOT EXISTS weir_counters (
  -- Printable ASCII, at most 500 characters: the limiter, the policy and the key.
  key text COLLATE "C" PRIMARY KEY,
  -- The state of the counter: whole numbers.
  numbers json NOT NULL,
  -- When the row expires, in ms since the Unix epoch.
  until_ms bigint NOT NULL
)
-- Leaves room on each page for new versions of its rows, so that updates need not touch the index.
WITH (fillfactor = 50);
