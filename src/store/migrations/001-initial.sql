-- Times are milliseconds since 1970. A comment that opens with an engine's name is that engine's own SQL.
-- A user, the user's grants and what hangs on them share the user's id, so that a distributed
-- engine keeps them on one shard and every step of the protocol stays a statement on one row there.

CREATE TABLE users (
  id TEXT NOT NULL PRIMARY KEY,
  email TEXT NOT NULL,
  email_verified_at BIGINT,
  name TEXT,
  preferred_username TEXT,
  picture TEXT,
  locale TEXT,
  password_hash TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  disabled_at BIGINT
) /*sqlite WITHOUT ROWID*/;

-- One user an address. A table of its own, because users are spread by id.
CREATE TABLE user_emails (
  email TEXT NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL
) /*sqlite WITHOUT ROWID*/;

CREATE TABLE applications (
  client_id TEXT NOT NULL PRIMARY KEY,
  owner_id TEXT NOT NULL,
  name TEXT NOT NULL,
  redirect_uris TEXT NOT NULL,
  scope INTEGER NOT NULL,
  optional_scope INTEGER NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  disabled_at BIGINT
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX applications_by_owner ON applications (owner_id);

CREATE TABLE application_secrets (
  client_id TEXT NOT NULL,
  id TEXT NOT NULL,
  hash TEXT NOT NULL,
  tail TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  last_used_at BIGINT,
  PRIMARY KEY (client_id, id)
) /*sqlite WITHOUT ROWID*/;

-- One row for a session's whole life: the code is generation 0, each refresh token the next.
-- No index on a column that a rotation changes.
CREATE TABLE grants (
  user_id TEXT NOT NULL,
  id TEXT NOT NULL,
  client_id TEXT NOT NULL,
  scope INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  expires_at BIGINT NOT NULL,
  redirect_uri TEXT,
  code_challenge TEXT,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT,
  ended_at BIGINT,
  ended_by TEXT,
  PRIMARY KEY (user_id, id)
) /*sqlite WITHOUT ROWID*/ /*postgres WITH (fillfactor = 80)*/;

-- Access tokens revoked on their own, until they would have expired.
CREATE TABLE revoked_access_tokens (
  user_id TEXT NOT NULL,
  grant_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, grant_id, generation)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX revoked_access_tokens_by_expiry ON revoked_access_tokens (expires_at);

-- Signed-in browsers. The cookie holds the id, this its hash.
CREATE TABLE sessions (
  id_hash TEXT NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX sessions_by_user ON sessions (user_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);
