-- Rows that are written only to be written: 'health' shows that the database accepts writes, and 'clock' is when the
-- service last ran on SQLite, where the database has no clock of its own.
CREATE TABLE heartbeats (
  name TEXT NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL
) /*sqlite WITHOUT ROWID*/;
