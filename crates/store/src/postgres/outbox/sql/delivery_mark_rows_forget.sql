-- The oldest attempts of deliveries that have had too many.
DELETE FROM attempts
USING unnest($1::bigint[], $2::bigint[]) AS given (delivery_id, logged)
WHERE attempts.delivery_id = given.delivery_id
  AND attempts.place <= given.logged - $3
