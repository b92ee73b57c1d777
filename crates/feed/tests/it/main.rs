//! The tests of the crate from outside, in one binary so that it is linked once.

mod browser;
mod corpus;
mod dates;
mod fixtures;
mod identity;
mod limits;
mod malformed;
mod nesting;
mod properties;
mod websub;
