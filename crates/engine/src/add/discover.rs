//! Looks for feeds without following any.

use domain::{AccountId, typed_address};
use tokio::sync::Semaphore;

use super::{Behind, first_answer, first_at_usual_places, no_feed, read, title_of, unreachable};
use crate::{
    api::{AddFeedError, OfferedFeed},
    context::Context,
};

/// The feeds at an address: the one that is there, those that the page there offers, or else one at the usual places.
pub(crate) async fn discover(
    context: &Context,
    slots: &Semaphore,
    account: AccountId,
    url: &str,
) -> Result<Vec<OfferedFeed>, AddFeedError> {
    let typed = typed_address(url)?;
    let _slot = slots.acquire().await.expect("the slots are never closed");
    let (address, answered) = first_answer(context, &typed).await.map_err(|error| unreachable(&error))?;
    match read(context, account, address, answered).await {
        Ok(Behind::Feed(found, offers)) if offers.is_empty() => Ok(vec![named(&found)]),
        Ok(Behind::Page(page, offers)) if offers.is_empty() => {
            let found = first_at_usual_places(context, account, &page).await?;
            found.map(|found| vec![named(&found)]).ok_or_else(|| no_feed(0))
        }
        Ok(Behind::Feed(_, offers) | Behind::Page(_, offers)) => Ok(offers.named()),
        Err(AddFeedError::AlreadyThere(id)) => {
            let feed = context.deps.store.feed(account, id).await?;
            Ok(feed.into_iter().map(|feed| OfferedFeed { url: feed.url, title: feed.title }).collect())
        }
        Err(error) => Err(error),
    }
}

fn named(found: &super::Read) -> OfferedFeed {
    let title = found.parsed.feed.head.title.as_ref().map(feed::Text::to_plain);
    OfferedFeed { url: found.address.url.clone(), title: title_of(title.as_deref()) }
}
