//! The icons of feeds.

use super::{
    error::{Answer, Refused},
    input::PathId,
};
use crate::auth::Actor;

pub(super) async fn of_feed(_: Actor, PathId(_): PathId) -> Answer {
    Err(Refused::none())
}

pub(super) async fn get(_: Actor, PathId(_): PathId) -> Answer {
    Err(Refused::none())
}
