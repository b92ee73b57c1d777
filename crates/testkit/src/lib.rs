//! For tests only: a publisher on loopback, a simulated clock, a fresh store of each kind.
