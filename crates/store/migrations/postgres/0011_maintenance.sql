-- What was done with the database as a whole. Twin of sqlite/0011_maintenance.sql.

-- `backup`: when it was last backed up. `incomplete`: it is being filled by a copy. `moved`: it was copied to another, which
-- delivers in its place. Other names are left alone. Whoever copies the database locks the whole table meanwhile.
CREATE TABLE maintenance (
    name   text   PRIMARY KEY,
    at     bigint NOT NULL,
    detail text
);
