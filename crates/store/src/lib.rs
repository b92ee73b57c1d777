//! The two stores: SQLite inside, PostgreSQL when one machine is not enough.
