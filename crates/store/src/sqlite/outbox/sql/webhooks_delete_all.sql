-- Differs from the other store: that one locks the rows in order (accounts/sql/delete_webhooks.sql).
UPDATE webhooks INDEXED BY webhooks_of_account
SET deleted_at = ?2,
    enabled = 0
WHERE account_id = ?1
  AND deleted_at IS NULL
