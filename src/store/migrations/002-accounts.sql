-- Accounts that wait for their address to be proven. There is no user yet: an address that nobody
-- proved is nobody's. The link holds the token, this its hash.
CREATE TABLE sign_ups (
  token_hash TEXT NOT NULL PRIMARY KEY,
  email TEXT NOT NULL,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  -- The browser that asked, hashed: it need not show the password again.
  browser_hash TEXT NOT NULL,
  expires_at BIGINT NOT NULL
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX sign_ups_by_expiry ON sign_ups (expires_at);

-- Links mailed to users, each for one purpose, one address and one use.
CREATE TABLE mail_links (
  user_id TEXT NOT NULL,
  token_hash TEXT NOT NULL,
  purpose TEXT NOT NULL,
  email TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  PRIMARY KEY (user_id, token_hash)
) /*sqlite WITHOUT ROWID*/;

CREATE INDEX mail_links_by_expiry ON mail_links (expires_at);

-- What happened to an account, for its user to look through. The newest are kept, the old are swept.
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
