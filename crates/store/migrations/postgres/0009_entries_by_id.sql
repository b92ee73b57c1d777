-- What an account has, by the ids of entries: Fever's clients, and others that sync by the last id they know, walk this.
CREATE INDEX states_by_id ON entry_states (account_id, entry_id);
