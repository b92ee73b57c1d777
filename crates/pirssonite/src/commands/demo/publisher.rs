//! The demo's publisher: keeps what each feed has published, and publishes the next post when it is told to.

use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::{
    contents::{Content, Format, PostContent},
    documents,
};

/// Posts that a feed has from the start, the newest some hours old.
const POSTS_FIRST: u32 = 4;

/// Posts that a feed's document holds.
const POSTS_MAX: usize = 20;

/// Of so many posts one is the first feed's: it shows soonest what becomes of a feed whose hub falls silent.
const FIRST_FEED_EVERY: usize = 3;

/// What was published, as the control page shows it.
const PUBLISHED_MAX: usize = 30;

/// A post that is published.
#[derive(Debug, Clone)]
pub(super) struct Post {
    pub(super) number: u32,
    pub(super) url: String,
    pub(super) title: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) html: String,
    pub(super) categories: Vec<String>,
    /// Where its sound is, if it is an episode.
    pub(super) sound: Option<String>,
    pub(super) published_at: Timestamp,
}

/// A document, as it is served and pushed.
#[derive(Debug, Clone)]
pub(super) struct Document {
    pub(super) content_type: &'static str,
    pub(super) body: String,
    /// Another one for every version.
    pub(super) etag: String,
}

/// What was just published.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Published {
    pub(super) at: Timestamp,
    pub(super) feed: String,
    pub(super) title: String,
    pub(super) url: String,
    pub(super) has_hub: bool,
    #[serde(skip)]
    pub(super) topic: String,
}

/// A feed, and what it has published, newest first.
#[derive(Debug)]
pub(super) struct Channel {
    pub(super) content: Content,
    posts: Vec<Post>,
}

#[derive(Debug)]
struct State {
    channels: Vec<Channel>,
    /// Whether the feed that fails does.
    is_press_broken: bool,
    /// How often something was published.
    turns: usize,
    published: Vec<Published>,
}

/// The publisher of all feeds.
#[derive(Debug)]
pub(super) struct Publisher {
    /// Where it is served, without a slash at the end.
    base_url: String,
    state: Mutex<State>,
}

impl Publisher {
    /// With some posts in every feed already, from before now.
    pub(super) fn new(base_url: String, contents: Vec<Content>, now: Timestamp) -> Self {
        let channels = contents.into_iter().zip(1..).map(|(content, place)| {
            let mut channel = Channel { content, posts: Vec::new() };
            for number in 1..=POSTS_FIRST {
                let hours = i64::from(POSTS_FIRST - number) * 26 + place * 2;
                let post = channel.write(&base_url, number, now - SignedDuration::from_hours(hours));
                channel.posts.insert(0, post);
            }
            channel
        });
        let channels = channels.collect();
        let state = State { channels, is_press_broken: false, turns: 0, published: Vec::new() };
        Self { base_url, state: Mutex::new(state) }
    }

    /// Publishes the next post, of whichever feed has its turn.
    pub(super) fn publish(&self, now: Timestamp) -> Published {
        let mut state = self.lock();
        let place = place_of_turn(state.turns, state.channels.len());
        state.turns += 1;
        let channel = &mut state.channels[place];
        let number = channel.posts.first().map_or(0, |post| post.number) + 1;
        let post = channel.write(&self.base_url, number, now);
        let published = Published {
            at: now,
            feed: channel.content.title.clone(),
            title: post.title.clone().unwrap_or_default(),
            url: post.url.clone(),
            has_hub: channel.content.has_hub,
            topic: channel.content.url(&self.base_url),
        };
        channel.posts.insert(0, post);
        channel.posts.truncate(POSTS_MAX);
        state.published.insert(0, published.clone());
        state.published.truncate(PUBLISHED_MAX);
        published
    }

    /// What was published last, newest first.
    pub(super) fn published(&self) -> Vec<Published> {
        self.lock().published.clone()
    }

    /// Where the feeds are, with the folders that they belong in.
    pub(super) fn feeds(&self) -> Vec<(String, String)> {
        let state = self.lock();
        state
            .channels
            .iter()
            .map(|Channel { content, .. }| (content.url(&self.base_url), content.folder.clone()))
            .collect()
    }

    /// The document at a URL of a feed; none if there is no such feed.
    pub(super) fn document(&self, url: &str) -> Option<Document> {
        let state = self.lock();
        let channel = state.channels.iter().find(|channel| channel.content.url(&self.base_url) == url)?;
        Some(documents::write(&self.base_url, channel))
    }

    /// Whether the feed at this URL cannot be served now.
    pub(super) fn is_broken(&self, url: &str) -> bool {
        let state = self.lock();
        state.is_press_broken
            && state.channels.iter().any(|Channel { content, .. }| content.fails && content.url(&self.base_url) == url)
    }

    /// The page of a feed's site; none if there is no such feed.
    pub(super) fn site(&self, name: &str) -> Option<Document> {
        self.page(name, |channel| Some(documents::site(&self.base_url, channel)))
    }

    /// The page of a post, as long as the feed has it.
    pub(super) fn post(&self, name: &str, number: u32) -> Option<Document> {
        self.page(name, |channel| {
            let post = channel.posts.iter().find(|post| post.number == number)?;
            Some(documents::post(channel, post))
        })
    }

    fn page(&self, name: &str, write: impl FnOnce(&Channel) -> Option<Document>) -> Option<Document> {
        write(self.lock().channels.iter().find(|channel| channel.content.name == name)?)
    }

    /// Breaks or repairs the press of the feed that fails.
    pub(super) fn set_press_broken(&self, is_broken: bool) {
        self.lock().is_press_broken = is_broken;
    }

    pub(super) fn is_press_broken(&self) -> bool {
        self.lock().is_press_broken
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whose turn it is: the first feed's every third time, the others' one after the other.
fn place_of_turn(turn: usize, channels: usize) -> usize {
    let others = channels.saturating_sub(1).max(1);
    if turn.is_multiple_of(FIRST_FEED_EVERY) {
        return 0;
    }
    let of_others = turn - turn / FIRST_FEED_EVERY - 1;
    (1 + of_others % others).min(channels.saturating_sub(1))
}

impl Channel {
    /// What it has published, newest first.
    pub(super) fn posts(&self) -> &[Post] {
        &self.posts
    }

    fn write(&self, base_url: &str, number: u32, published_at: Timestamp) -> Post {
        let (name, posts) = (self.content.name, &self.content.posts);
        let place = usize::try_from(number.saturating_sub(1)).unwrap_or_default() % posts.len().max(1);
        let PostContent { title, summary, html, picture, has_sound, categories } = &posts[place];
        let numbered = |text: &String| text.replace("{number}", &number.to_string());
        let picture = picture.as_ref().map(|shows| {
            let source = format!("{base_url}/pictures/{name}-{number}.svg");
            format!("<p><img src=\"{source}\" alt=\"{shows}\" width=\"640\" height=\"360\"></p>\n")
        });
        Post {
            number,
            url: format!("{base_url}/{name}/posts/{number}"),
            title: title.as_ref().map(numbered),
            summary: summary.as_ref().map(numbered),
            html: format!("{}{}", picture.unwrap_or_default(), numbered(html).trim()),
            categories: categories.clone(),
            sound: has_sound.then(|| format!("{base_url}/sounds/{name}-{number}.wav")),
            published_at,
        }
    }
}

impl Content {
    /// Where its document is.
    pub(super) fn url(&self, base_url: &str) -> String {
        let file = match self.format {
            Format::Rss => "feed.xml",
            Format::Atom => "atom.xml",
            Format::Json => "feed.json",
            // The page is the feed.
            Format::HFeed => "",
        };
        format!("{base_url}/{}/{file}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_demo_every_feed_has_its_turn() {
        let turns: Vec<usize> = (0..9).map(|turn| place_of_turn(turn, 5)).collect();
        assert_eq!(turns, [0, 1, 2, 0, 3, 4, 0, 1, 2]);
        assert_eq!(place_of_turn(1, 1), 0);
    }
}
