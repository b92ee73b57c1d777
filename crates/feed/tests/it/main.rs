//! The tests of the crate from outside, in one binary so that it is linked once.

mod corpus;
mod dates;
mod fixtures;
