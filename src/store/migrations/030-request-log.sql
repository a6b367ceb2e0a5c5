-- What was asked in an application's name at the authorize, token and revoke endpoints, and what came of
-- it: for its developer. The newest are kept, the old are swept. No credential is in it.
CREATE TABLE request_log (
  client_id TEXT NOT NULL,
  -- The request's own id. Ids sort by time.
  id TEXT NOT NULL,
  at BIGINT NOT NULL,
  endpoint TEXT NOT NULL,
  -- 1 when the application had proven who it is; anybody can send the rest.
  proven INTEGER NOT NULL,
  -- The error the client was told, or nothing.
  error TEXT NOT NULL,
  reason TEXT NOT NULL,
  -- The end of the grant's id, and which link of it was presented: 0 is the code.
  session TEXT,
  generation INTEGER,
  -- JSON.
  facts TEXT NOT NULL,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  latency_us INTEGER NOT NULL,
  PRIMARY KEY (client_id, id)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX request_log_by_time ON request_log (at);

-- Client secrets that no longer work, hashed as they were, so that a request with one can be told so.
CREATE TABLE ended_secrets (
  client_id TEXT NOT NULL,
  hash TEXT NOT NULL,
  ended_at BIGINT NOT NULL,
  ended_by TEXT NOT NULL,
  PRIMARY KEY (client_id, hash)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX ended_secrets_by_time ON ended_secrets (ended_at);

-- Grants that were cut because one of their credentials came twice, with the presentations known at that time.
CREATE TABLE incidents (
  client_id TEXT NOT NULL,
  id TEXT NOT NULL,
  at BIGINT NOT NULL,
  kind TEXT NOT NULL,
  session TEXT NOT NULL,
  generation INTEGER NOT NULL,
  -- JSON.
  presentations TEXT NOT NULL,
  PRIMARY KEY (client_id, id)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX incidents_by_time ON incidents (at);

-- Requests an hour by what came of them, and how much of the rate limit was used at most.
CREATE TABLE usage_hours (
  client_id TEXT NOT NULL,
  hour BIGINT NOT NULL,
  -- Nothing for a success.
  reason TEXT NOT NULL,
  requests INTEGER NOT NULL,
  peak INTEGER NOT NULL,
  PRIMARY KEY (client_id, hour, reason)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX usage_hours_by_time ON usage_hours (hour);

-- How many different users a day: a HyperLogLog sketch, whose size does not grow with the users and which
-- several nodes can fill together.
CREATE TABLE usage_users (
  client_id TEXT NOT NULL,
  day BIGINT NOT NULL,
  register INTEGER NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (client_id, day, register)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX usage_users_by_time ON usage_users (day);
