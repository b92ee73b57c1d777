-- Differs from the other store: the other store has a sequence (LAST), and reads the floor with the page (after).
SELECT number, (SELECT max(number) FROM changes)
FROM change_floor
