-- What was done with the database as a whole, and the traces of events. Twin of postgres/0011_maintenance_and_traces.sql.

-- `backup`: when it was last backed up. `incomplete`: it is being filled by a copy. `moved`: it was copied to another, which
-- delivers in its place. Other names are left alone.
CREATE TABLE maintenance (
    name   TEXT    PRIMARY KEY,
    at     INTEGER NOT NULL,
    detail TEXT
);

-- The trace that an event belongs to, as W3C Trace Context writes it, where traces are made.
ALTER TABLE events ADD COLUMN traceparent TEXT;
