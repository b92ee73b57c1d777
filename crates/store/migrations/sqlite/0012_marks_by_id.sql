-- What an account has of an entry, side by side for the account: a page reads its marks here. In the table they stand among
-- those of all other accounts that have the entry, so each entry of a page would be on a page of its own.
-- Twin of postgres/0012_marks_by_id.sql.

DROP INDEX states_by_id;
CREATE INDEX states_by_id ON entry_states (account_id, entry_id, is_read, is_starred, received_at);
