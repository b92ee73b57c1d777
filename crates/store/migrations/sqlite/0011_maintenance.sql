-- What was done with the database as a whole. Twin of postgres/0011_maintenance.sql.

-- `backup`: when it was last backed up. `incomplete`: it is being filled by a copy. `moved`: it was copied to another, which
-- delivers in its place. Other names are left alone.
CREATE TABLE maintenance (
    name   TEXT    PRIMARY KEY,
    at     INTEGER NOT NULL,
    detail TEXT
);
