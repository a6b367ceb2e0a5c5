-- The platform's own APIs that may ask what an access token is worth (RFC 7662).
CREATE TABLE resource_servers (
  id TEXT NOT NULL PRIMARY KEY,
  name TEXT NOT NULL,
  secret_hash TEXT NOT NULL,
  secret_tail TEXT NOT NULL,
  created_at BIGINT NOT NULL
) /*sqlite WITHOUT ROWID*/;
