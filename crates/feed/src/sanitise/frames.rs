//! Frames and players. None is let in: a link stands in for each. Where the player is known, the link leads to the page
//! that a person opens, shows its still picture, and is marked with `data-player`, by which a page can offer to play it
//! in place.
//!
//! No feed can forge the mark: a link that has it is written anew from the address in it, to the letter as the player
//! itself would be, or loses it. So marked links say nothing that a frame in the same place could not have said, and
//! sanitised again they stay as they are.

use super::{
    Dropping, Last, Sanitiser,
    attributes::may_follow,
    picture::is_tracking_pixel,
    players::{Player, recognise},
    policy::Kept,
    value::{is_web, unescaped},
};
use crate::{
    resolve,
    scan::{Attributes, Dialect, Scanner, Token},
    tracking::without_tracking,
};

/// The mark of a link that stands in for a known player; its value is what plays.
pub(super) const MARK: &str = "data-player";

/// Characters of the title of a frame.
const TITLE_CHARS_MAX: usize = 200;

/// Where a frame keeps its address while it waits for a script, or for a consent.
const ADDRESSES: [&str; 8] = [
    "src",
    "data-src",
    "data-lazy-src",
    "data-litespeed-src",
    "data-src-cmplz",
    "data-cookieblock-src",
    "data-cmp-src",
    "data-ezsrc",
];

/// An `<iframe>` whose inside is yet to come.
#[derive(Debug)]
pub(super) struct Frame {
    address: String,
    title: Option<String>,
}

/// An `<object>` that is open.
#[derive(Debug)]
pub(super) struct PendingObject {
    /// What it would show.
    frame: Option<Frame>,
    /// How much was shown before it.
    shown: usize,
}

impl Sanitiser<'_> {
    /// An element that shows another page.
    pub(super) fn frame(&mut self, name: &str, attributes: Attributes<'_>, closed: bool) {
        if is_tracking_pixel(attributes) || attributes.get("hidden").is_some() {
            self.pass_over(name, closed);
            return;
        }
        let lower = name.to_ascii_lowercase();
        match lower.as_str() {
            "iframe" => self.pending_frame = self.first_address(attributes).map(|it| Frame::new(it, attributes)),
            "amp-iframe" => {
                let address = self.first_address(attributes);
                self.replace_frame(address.map(|it| Frame::new(it, attributes)), None);
                self.pass_over(name, closed);
            }
            "embed" => {
                let address = self.first_address(attributes);
                self.replace_frame(shown_by_plugin(address, attributes), None);
            }
            "object" => {
                let frame = shown_by_plugin(self.address_of_object(attributes), attributes);
                if closed {
                    self.replace_frame(frame, None);
                } else {
                    self.objects.push(PendingObject { frame, shown: self.shown });
                    self.known_player(attributes.get("data"), attributes, "object");
                }
            }
            "param" if !self.objects.is_empty() => {
                let names_file = |name: &str| ["movie", "src", "data"].iter().any(|it| it.eq_ignore_ascii_case(name));
                if attributes.get("name").is_some_and(names_file) {
                    self.known_player(attributes.get("value"), Attributes::default(), "object");
                }
            }
            "param" => {}
            _ => {
                let frame = custom_address(&lower, attributes).map(|address| Frame::new(address, attributes));
                self.replace_frame(frame, None);
                self.pass_over(name, closed);
            }
        }
    }

    /// The inside of the `<iframe>` that was just opened. It holds a link for those who see no frames.
    pub(super) fn frame_inside(&mut self, raw: &str) {
        if let Some(frame) = self.pending_frame.take() {
            let link = Scanner::new(raw, Dialect::Html).find_map(|token| match token {
                Token::Start { name: "a", attributes, .. } => attributes.get("href").map(unescaped),
                _ => None,
            });
            self.replace_frame(Some(frame), link.as_deref());
        }
    }

    /// A link that says of itself that it stands in for a player; whether it does.
    pub(super) fn marked_link(&mut self, attributes: Attributes<'_>) -> bool {
        let Some(address) = attributes.get(MARK).map(unescaped) else { return false };
        let href = attributes.get("href").map(unescaped);
        let Some(player) = recognise(&address, href.as_deref()) else { return false };
        self.link_to_player(&player, Frame::new(String::new(), attributes).title.as_deref());
        self.dropping = Some(Dropping::all("a"));
        true
    }

    /// What an object plays, if that is known: then all else in it is for browsers that cannot play it.
    fn known_player(&mut self, address: Option<&str>, attributes: Attributes<'_>, around: &str) {
        let address = address.and_then(|raw| self.url(&unescaped(raw), may_follow));
        if let Some(player) = address.and_then(|address| recognise(&address, None)) {
            self.link_to_player(&player, Frame::new(String::new(), attributes).title.as_deref());
            self.dropping = Some(Dropping { depth: self.objects.len(), ..Dropping::all(around) });
            self.objects.clear();
        }
    }

    /// What is in an object is shown where the object itself cannot be. Where nothing is in it, a link to it is.
    pub(super) fn object_ended(&mut self) {
        if let Some(object) = self.objects.pop().filter(|object| object.shown == self.shown) {
            self.replace_frame(object.frame, None);
        }
    }

    fn address_of_object(&self, attributes: Attributes<'_>) -> Option<String> {
        let address = self.url(&unescaped(attributes.get("data")?), is_web)?;
        address.starts_with("http").then_some(address)
    }

    fn pass_over(&mut self, name: &str, closed: bool) {
        if !closed && !super::is_void(name) && !name.eq_ignore_ascii_case("iframe") {
            self.dropping = Some(Dropping::until_block(name));
        }
    }

    fn first_address(&self, attributes: Attributes<'_>) -> Option<String> {
        let web = |raw: &str| self.url(&unescaped(raw), is_web).filter(|url| url.starts_with("http"));
        ADDRESSES.iter().filter_map(|name| attributes.get(name)).find_map(web)
    }

    fn replace_frame(&mut self, frame: Option<Frame>, link: Option<&str>) {
        let Some(Frame { address, title }) = frame else { return };
        if let Some(player) = recognise(&address, link) {
            return self.link_to_player(&player, title.as_deref());
        }
        let address = without_tracking(&address).into_owned();
        if self.last != Last::Frame(address.clone()) {
            self.link(&address, None, None, title.as_deref());
            self.last = Last::Frame(address);
        }
    }

    fn link_to_player(&mut self, player: &Player, title: Option<&str>) {
        // A frame that waits for a script has a copy in `<noscript>`.
        if self.last != Last::Frame(player.page.clone()) {
            self.link(&player.page, Some(&player.embed), player.still.as_deref(), title);
            self.last = Last::Frame(player.page.clone());
        }
    }

    fn link(&mut self, href: &str, embed: Option<&str>, still: Option<&str>, title: Option<&str>) {
        if !self.make_way(Kept::A) {
            return;
        }
        if self.is_full(Kept::A) {
            self.write_text(title.unwrap_or(href));
            return;
        }
        self.out.push_str("<a");
        self.attribute("href", href);
        if let Some(embed) = embed {
            self.attribute(MARK, embed);
            if let Some(title) = title {
                self.attribute("title", title);
            }
        }
        self.out.push('>');
        self.opened(Kept::A);
        if let Some(still) = still {
            self.out.push_str("<img");
            self.attribute("src", still);
            self.attribute("alt", "");
            self.out.push('>');
        }
        self.write_text(title.unwrap_or(href));
        self.end_kept(Kept::A);
    }
}

impl Frame {
    fn new(address: String, attributes: Attributes<'_>) -> Self {
        let title = ["title", "playlabel", "aria-label"].into_iter().find_map(|name| attributes.get(name));
        Self { address, title: title.and_then(|raw| readable_title(&unescaped(raw))) }
    }
}

/// What an `<embed>` or an `<object>` shows, if anybody can still see that: Flash and Java are over.
fn shown_by_plugin(address: Option<String>, attributes: Attributes<'_>) -> Option<Frame> {
    let frame = Frame::new(address?, attributes);
    let kind = attributes.get("type").unwrap_or_default().to_ascii_lowercase();
    let path = frame.address.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let is_swf = path.rsplit_once('.').is_some_and(|(_, ending)| ending == "swf");
    let is_over = is_swf || kind.contains("flash") || kind.contains("x-java");
    (!is_over || recognise(&frame.address, None).is_some()).then_some(frame)
}

fn readable_title(title: &str) -> Option<String> {
    let words: Vec<&str> =
        title.split(|c: char| c.is_whitespace() || c.is_control()).filter(|word| !word.is_empty()).collect();
    let title: String = words.join(" ").chars().take(TITLE_CHARS_MAX).collect();
    // What YouTube has everybody paste tells nobody anything.
    let says_something = !title.trim().is_empty() && title != "YouTube video player";
    says_something.then(|| title.trim().to_owned())
}

/// The address of a player that is an element of its own, by what it is to play.
fn custom_address(name: &str, attributes: Attributes<'_>) -> Option<String> {
    let stated = ["videoid", "data-videoid", "video-id", "data-trackid"].into_iter().find_map(|it| attributes.get(it));
    let Some(id) =
        stated.map(str::trim).filter(|id| id.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it)))
    else {
        let url = attributes.get("src").map(|raw| resolve::strip(&unescaped(raw)).into_owned())?;
        return recognise(&url, None).map(|player| player.embed);
    };
    Some(match name {
        "amp-vimeo" | "lite-vimeo" => format!("https://player.vimeo.com/video/{id}"),
        "amp-dailymotion" => format!("https://www.dailymotion.com/embed/video/{id}"),
        "amp-soundcloud" => format!("https://w.soundcloud.com/player/?url=https://api.soundcloud.com/tracks/{id}"),
        _ => format!("https://www.youtube.com/embed/{id}"),
    })
}
