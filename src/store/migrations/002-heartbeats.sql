-- 'health' is written to show that the database accepts writes. 'clock' is when the service last ran on SQLite, where the
-- database has no clock of its own. 'changes' counts changes of applications and resource servers on PostgreSQL, for
-- nodes that a notification does not reach.
CREATE TABLE heartbeats (
  name TEXT NOT NULL PRIMARY KEY,
  at BIGINT NOT NULL
) /*sqlite WITHOUT ROWID*/;
