-- Times are milliseconds since 1970. A comment that starts with an engine's name is SQL for that engine only.
-- A user and everything keyed by user_id share a shard on a distributed engine, so every protocol step stays a
-- statement on one row of one shard.

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

-- One user per email address. A separate table because users are sharded by id.
CREATE TABLE user_emails (
  email TEXT NOT NULL PRIMARY KEY,
  user_id TEXT NOT NULL
) /*sqlite WITHOUT ROWID*/;

-- Signed-in browsers. The cookie carries the session id; only its hash is stored.
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

-- Sign-ups whose email address is not confirmed yet. No user row exists until it is: an unconfirmed address belongs
-- to nobody. The mailed link carries the token; only its hash is stored.
CREATE TABLE sign_ups (
  token_hash TEXT NOT NULL PRIMARY KEY,
  email TEXT NOT NULL,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  -- Hash of the browser that signed up: it may confirm without typing the password again.
  browser_hash TEXT NOT NULL,
  expires_at BIGINT NOT NULL
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX sign_ups_by_expiry ON sign_ups (expires_at);

-- Links mailed to users: each has one purpose, one address and works once.
CREATE TABLE mail_links (
  user_id TEXT NOT NULL,
  token_hash TEXT NOT NULL,
  purpose TEXT NOT NULL,
  email TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, token_hash)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX mail_links_by_expiry ON mail_links (expires_at);

-- What happened to an account, shown to its user. Bounded per user; old events are swept.
CREATE TABLE security_events (
  user_id TEXT NOT NULL,
  id TEXT NOT NULL,
  happened_at BIGINT NOT NULL,
  kind TEXT NOT NULL,
  client_id TEXT,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  PRIMARY KEY (user_id, id)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX security_events_by_user ON security_events (user_id, happened_at);
CREATE INDEX security_events_by_time ON security_events (happened_at);

CREATE TABLE applications (
  client_id TEXT NOT NULL PRIMARY KEY,
  owner_id TEXT NOT NULL,
  name TEXT NOT NULL,
  homepage_url TEXT,
  redirect_uris TEXT NOT NULL,
  scope INTEGER NOT NULL,
  optional_scope INTEGER NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  disabled_at BIGINT,
  -- 'owner' or 'operator'. The owner cannot re-enable what the operator disabled.
  disabled_by TEXT
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

-- Hashes of client secrets that no longer work, so that the request log can tell an old secret from a wrong one.
CREATE TABLE retired_secrets (
  client_id TEXT NOT NULL,
  hash TEXT NOT NULL,
  retired_at BIGINT NOT NULL,
  retired_reason TEXT NOT NULL,
  PRIMARY KEY (client_id, hash)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX retired_secrets_by_time ON retired_secrets (retired_at);

-- The form that created each application, so that submitting it twice creates one. Rows outlive the application:
-- resubmitting the form must not bring a deleted one back.
CREATE TABLE application_creations (
  owner_id TEXT NOT NULL,
  form_id TEXT NOT NULL,
  client_id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (owner_id, form_id)
) /*sqlite WITHOUT ROWID*/;

-- One row per grant for its whole life: the code is generation 0, each refresh token the next generation.
-- No index on a column that a rotation changes: PostgreSQL then keeps rotations HOT updates.
CREATE TABLE grants (
  user_id TEXT NOT NULL,
  id TEXT NOT NULL,
  client_id TEXT NOT NULL,
  scope INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  -- Expiry of the current credential: the code, then the latest refresh token.
  expires_at BIGINT NOT NULL,
  redirect_uri TEXT,
  code_challenge TEXT,
  created_at BIGINT NOT NULL,
  last_used_at BIGINT,
  revoked_at BIGINT,
  revoked_reason TEXT,
  PRIMARY KEY (user_id, id)
) /*sqlite WITHOUT ROWID*/ /*postgres WITH (fillfactor = 80)*/;

-- Access tokens revoked on their own, kept until they would have expired.
CREATE TABLE revoked_access_tokens (
  user_id TEXT NOT NULL,
  grant_id TEXT NOT NULL,
  generation INTEGER NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, grant_id, generation)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX revoked_access_tokens_by_expiry ON revoked_access_tokens (expires_at);

-- The platform's own APIs, which may introspect access tokens (RFC 7662).
CREATE TABLE resource_servers (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  secret_hash TEXT NOT NULL,
  secret_tail TEXT NOT NULL,
  created_at BIGINT NOT NULL
) /*sqlite WITHOUT ROWID*/;

-- Numbers and salts of the signing keys. The keys are derived from the service secret and stored nowhere.
CREATE TABLE signing_keys (
  number INTEGER NOT NULL PRIMARY KEY,
  salt TEXT NOT NULL,
  created_at BIGINT NOT NULL
) /*sqlite WITHOUT ROWID*/;

-- One row: a slow hash of the service secret, so that a node started with another secret is refused.
CREATE TABLE secret_fingerprint (
  id INTEGER NOT NULL PRIMARY KEY,
  fingerprint TEXT NOT NULL
);

-- Jobs that one process at a time may run, and which process holds each.
CREATE TABLE leases (
  name TEXT NOT NULL PRIMARY KEY,
  holder TEXT NOT NULL,
  expires_at BIGINT NOT NULL
) /*sqlite WITHOUT ROWID*/;

-- Rate-limit counters shared by all nodes. Unlogged: fast, and empty after a crash, which lets a few extra requests
-- pass. With SQLite a single process serves and counts in memory.
/*postgres
CREATE UNLOGGED TABLE rate_windows (
  key TEXT NOT NULL PRIMARY KEY,
  started_at BIGINT NOT NULL,
  ends_at BIGINT NOT NULL,
  count INTEGER NOT NULL
) WITH (fillfactor = 50);
CREATE INDEX rate_windows_by_end ON rate_windows (ends_at);
*/

-- Requests to the authorize, token and revoke endpoints, for the application's developer. Bounded per application;
-- old entries are swept. Holds no credential.
CREATE TABLE request_log (
  client_id TEXT NOT NULL,
  -- The request id. Ids sort by time.
  id TEXT NOT NULL,
  at BIGINT NOT NULL,
  endpoint TEXT NOT NULL,
  -- 1 when the client authenticated. Anybody can send the rest in its name.
  authenticated INTEGER NOT NULL,
  -- The error code sent to the client; empty for a success.
  error TEXT NOT NULL,
  reason TEXT NOT NULL,
  -- The last characters of the grant id, and the generation that was presented (0 is the code).
  grant_tail TEXT,
  generation INTEGER,
  -- JSON.
  details TEXT NOT NULL,
  address TEXT NOT NULL,
  user_agent TEXT NOT NULL,
  latency_us INTEGER NOT NULL,
  PRIMARY KEY (client_id, id)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX request_log_by_time ON request_log (at);

-- Grants revoked because a credential was presented twice, with the uses known at that time.
CREATE TABLE incidents (
  client_id TEXT NOT NULL,
  id TEXT NOT NULL,
  at BIGINT NOT NULL,
  kind TEXT NOT NULL,
  grant_tail TEXT NOT NULL,
  generation INTEGER NOT NULL,
  -- JSON.
  presentations TEXT NOT NULL,
  PRIMARY KEY (client_id, id)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX incidents_by_time ON incidents (at);

-- Requests per hour and result, and the highest use of the rate limit.
CREATE TABLE usage_hours (
  client_id TEXT NOT NULL,
  hour BIGINT NOT NULL,
  -- Empty for a success.
  reason TEXT NOT NULL,
  requests INTEGER NOT NULL,
  peak INTEGER NOT NULL,
  PRIMARY KEY (client_id, hour, reason)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX usage_hours_by_time ON usage_hours (hour);

-- Distinct users per day: a HyperLogLog sketch. Its size does not grow with the users, and nodes fill it together.
CREATE TABLE usage_users (
  client_id TEXT NOT NULL,
  day BIGINT NOT NULL,
  register INTEGER NOT NULL,
  value INTEGER NOT NULL,
  PRIMARY KEY (client_id, day, register)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX usage_users_by_time ON usage_users (day);
