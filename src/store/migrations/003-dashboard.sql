-- Where an application presents itself to people.
ALTER TABLE applications ADD COLUMN homepage_url TEXT;

-- Who disabled it: 'owner' or 'operator'. What the operator disabled the owner cannot enable again.
ALTER TABLE applications ADD COLUMN disabled_by TEXT;
UPDATE applications SET disabled_by = 'operator' WHERE disabled_at IS NOT NULL;

-- Which form made which application, so that a form sent twice makes one. It outlives the
-- application: sending the form of a deleted one again must not bring it back.
CREATE TABLE application_creations (
  owner_id TEXT NOT NULL,
  form_id TEXT NOT NULL,
  client_id TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (owner_id, form_id)
) /*sqlite WITHOUT ROWID*/;
