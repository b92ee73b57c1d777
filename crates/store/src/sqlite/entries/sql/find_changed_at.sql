SELECT entry_id, modified_at
FROM json_each(?1) AS given
CROSS JOIN entry_states ON entry_id = given.value AND account_id = ?2
