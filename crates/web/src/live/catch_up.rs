//! What somebody missed who comes back, or that it is not known any more.

use bytes::Bytes;
use domain::changes::ChangeNumber;
use engine::Heard;

use super::{Audience, event::Group, follows::Follows, pending::Pending};
use crate::{error::ApiResult, state::AppState};

/// The events after this place, and where to go on; those of a stream that begins anew are none.
pub(super) async fn read(
    state: &AppState,
    audience: Audience,
    after: Option<ChangeNumber>,
) -> ApiResult<(Bytes, ChangeNumber)> {
    let (heard, end) = state.engine.changes_since(after).await?;
    let (Some(after), changes) = (after, heard) else { return Ok((Bytes::new(), end)) };
    let changes = match changes {
        Heard::Reset(_) => return Ok((Group::reset().write(end, end), end)),
        Heard::Changes(changes) if changes.is_empty() => return Ok((Bytes::new(), end)),
        Heard::Changes(changes) => changes,
    };
    let counts = state.store().counts_of(&[audience.account], None).await?;
    let follows = counts.first().map(Follows::new).unwrap_or_default();
    let mut pending = Pending::default();
    for change in &changes {
        pending.note(change, audience, Some(&follows));
    }
    pending.keep_followed(audience, &follows);
    Ok((Group::of(&pending, &follows, 0).write(after, end), end))
}
