//! Push after WebSub, without doing any of it: what a feed's answer says about hubs, what becomes of a subscription when
//! something happens, when the next thing has to happen, and whether a push is the hub's.
//!
//! ```text
//! answer ─> discovery ─> reconcile ─> subscription ─> step: what is due ─> event ─> machine: what becomes of it
//!                                          push ─> signature, secrets ──────^
//! ```

pub mod discovery;
pub mod link;
mod machine;
mod reconcile;
mod secrets;
mod signature;
mod subscription;
mod timing;

pub use self::{
    discovery::{Discovery, InDocument, KnownHub, discover},
    machine::{Decision, PUSH_MAY_TAKE, Step, SubscriptionEvent, apply, missed, step},
    reconcile::{DesiredPush, Plan, PlannedChange, needs_another_hub, reconcile},
    secrets::Secrets,
    signature::{Algorithm, Signature, Unsigned, sign},
    subscription::{
        Mode, Offer, Push, PushStored, PushTarget, Sender, Subscription, SubscriptionJob, SubscriptionState,
        SubscriptionView, Transition,
    },
    timing::{RenewalRules, VERIFY_WITHIN},
};

/// Random bytes of a token: nobody guesses one.
const TOKEN_BYTES: usize = 24;

/// Characters of a token, which is in hex: nothing longer is one.
pub const TOKEN_CHARS: usize = 2 * TOKEN_BYTES;

/// Random bytes of a secret; in hex it is shorter than the 200 bytes that the standard allows.
const SECRET_BYTES: usize = 32;

/// A token that nobody can guess.
pub fn new_token(ids: &dyn crate::ports::Ids) -> String {
    let mut bytes = [0; TOKEN_BYTES];
    ids.fill(&mut bytes);
    hex(&bytes)
}

/// A secret that nobody can guess.
pub fn new_secret(ids: &dyn crate::ports::Ids) -> String {
    let mut bytes = [0; SECRET_BYTES];
    ids.fill(&mut bytes);
    hex(&bytes)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
