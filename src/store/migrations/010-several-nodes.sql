-- Numbers and salts of the sealing keys. The keys themselves are derived from the secret and kept nowhere.
CREATE TABLE sealing_keys (
  number INTEGER NOT NULL PRIMARY KEY,
  salt TEXT NOT NULL,
  created_at BIGINT NOT NULL
) /*sqlite WITHOUT ROWID*/;

-- One row: a slow hash of the secret this database belongs to, so that a node with another one is told.
CREATE TABLE secret_fingerprint (
  id INTEGER NOT NULL PRIMARY KEY,
  fingerprint TEXT NOT NULL
);

-- What one process at a time does, and which one.
CREATE TABLE leases (
  name TEXT NOT NULL PRIMARY KEY,
  holder TEXT NOT NULL,
  expires_at BIGINT NOT NULL
) /*sqlite WITHOUT ROWID*/;

-- Counters of all nodes together. Unlogged: fast, and empty after a crash, which lets a few requests more pass.
-- With SQLite one process serves, and counts in its memory.
/*postgres
CREATE UNLOGGED TABLE rate_windows (
  key TEXT NOT NULL PRIMARY KEY,
  started_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  count INTEGER NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX rate_windows_by_end ON rate_windows (ends_at);
*/
