//! Folders, renamed and removed. Their feeds stay.

use domain::{
    FolderId,
    folder::FOLDER_NAME_CHARS_MAX,
    ports::{Conflict, UpdateOutcome},
};

use super::{refusal::Refusal, request::Call, stream::Stream};

pub(super) async fn rename(call: &Call) -> Result<(), Refusal> {
    let label = |name: &str| call.params.first(name).and_then(Stream::parse);
    let (Some(Stream::Label(from)), Some(Stream::Label(to))) = (label("s").or_else(|| named(call)), label("dest"))
    else {
        return Err(Refusal::BadRequest);
    };
    check_name(&to)?;
    let folder = call.folder(&from).await?.ok_or(Refusal::BadRequest)?;
    match call.state.store().rename_folder(call.actor.account, folder.id, &to).await? {
        UpdateOutcome::Updated(_) => Ok(()),
        UpdateOutcome::NotFound | UpdateOutcome::NoSuchFolder | UpdateOutcome::Conflict(_) => Err(Refusal::BadRequest),
    }
}

pub(super) async fn disable(call: &Call) -> Result<(), Refusal> {
    let stream = call.params.first("s").and_then(Stream::parse).or_else(|| named(call));
    let Some(Stream::Label(name)) = stream else { return Err(Refusal::BadRequest) };
    let folder = call.folder(&name).await?.ok_or(Refusal::BadRequest)?;
    call.state.store().delete_folder(call.actor.account, folder.id).await?;
    Ok(())
}

/// The folder of this name, made if there is none.
pub(super) async fn folder_of(call: &Call, label: &str) -> Result<FolderId, Refusal> {
    check_name(label)?;
    if let Some(folder) = call.folder(label).await? {
        return Ok(folder.id);
    }
    match call.state.store().create_folder(call.actor.account, label).await? {
        Ok(folder) => Ok(folder.id),
        // Another was quicker.
        Err(Conflict) => Ok(call.folder(label).await?.ok_or(Refusal::BadRequest)?.id),
    }
}

/// What `t` names: the id of a label, or its name alone.
fn named(call: &Call) -> Option<Stream> {
    let text = call.params.first("t")?;
    Stream::parse(text).or_else(|| Some(Stream::Label(domain::folder::one_line(text))))
}

fn check_name(label: &str) -> Result<(), Refusal> {
    let is_name = !label.is_empty() && label.chars().count() <= FOLDER_NAME_CHARS_MAX;
    is_name.then_some(()).ok_or(Refusal::BadRequest)
}
