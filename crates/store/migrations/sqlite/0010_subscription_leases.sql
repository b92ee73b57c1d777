-- Leases of subscriptions that a clock cannot lengthen, each by its own length: a renewal by hand takes a longer one than
-- the background does. Twin of postgres/0010_subscription_leases.sql.

-- How long the lease is that was last taken. One that ends over a minute later than this from now was taken before a clock
-- went back, and counts no more. Those that are held now are no longer than two minutes.
ALTER TABLE subscriptions ADD COLUMN lease_ms INTEGER NOT NULL DEFAULT 120000;
