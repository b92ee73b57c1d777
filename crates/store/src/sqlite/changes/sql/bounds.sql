SELECT number, (SELECT max(number) FROM changes)
FROM change_floor
