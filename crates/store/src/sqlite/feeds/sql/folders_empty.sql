-- The entries of a folder that goes are in none.
UPDATE entry_states INDEXED BY states_of_folder
SET folder_id = NULL
WHERE account_id = ?1
  AND folder_id = ?2
