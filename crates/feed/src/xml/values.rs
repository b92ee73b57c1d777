//! What single values mean: a category, an enclosure, a person in one line, a duration, a period, a day.

use super::{Element, capture::Capture, roles::Field};
use crate::{
    entity::{Declared, decode},
    model::{Enclosure, Entry, Image, Media, Person, Tag},
    resolve::LinkBudget,
};

/// The vocabulary of Media RSS's categories where none is named.
const MEDIA_SCHEME: &str = "http://search.yahoo.com/mrss/category_schema";

pub(super) fn category(capture: &Capture<'_>) -> Tag {
    let of = |name| capture.attribute(name).map(str::to_owned);
    Tag {
        term: of("term").as_deref().or(capture.word()).map(plain),
        scheme: of("scheme")
            .or_else(|| of("domain"))
            .or_else(|| (capture.field == Field::MediaCategory).then(|| MEDIA_SCHEME.to_owned())),
        label: of("label").as_deref().map(plain),
    }
}

/// A word or a name without references: they are escaped once more than XML asks for by many who write HTML.
pub(super) fn plain(word: &str) -> String {
    decode(word, &mut Declared::none())
}

pub(super) fn enclosure(capture: &Capture<'_>, budget: &LinkBudget) -> Option<Enclosure> {
    let href = capture.attribute("url").or_else(|| capture.attribute("href"))?;
    let of = |name| capture.attribute(name).map(str::to_owned);
    Some(Enclosure { href: capture.link(href, budget)?, mime: of("type"), length: of("length"), duration_secs: None })
}

pub(super) fn media_of(capture: &Capture<'_>, budget: &LinkBudget) -> Option<Media> {
    let url = capture.attribute("url").or(capture.word())?;
    let of = |name| capture.attribute(name).map(str::to_owned);
    let url = capture.link(url, budget)?;
    let (mime, medium, width, height) = (of("type"), of("medium"), of("width"), of("height"));
    Some(Media { url, mime, medium, width, height, duration_secs: None })
}

/// The first picture among an entry's files.
pub(super) fn picture(entry: &Entry) -> Option<String> {
    let is_picture = |mime: &Option<String>| mime.as_deref().is_some_and(|mime| mime.starts_with("image/"));
    let enclosure =
        entry.enclosures.iter().find(|enclosure| is_picture(&enclosure.mime)).map(|enclosure| &enclosure.href);
    let media =
        || entry.media_content.iter().find(|media| is_picture(&media.mime) || media.medium.as_deref() == Some("image"));
    enclosure.or_else(|| media().map(|media| &media.url)).cloned()
}

pub(super) fn image_attribute(capture: &Capture<'_>, budget: &LinkBudget) -> Option<Image> {
    let href = capture.attribute("href").or_else(|| capture.attribute("url")).or(capture.word())?;
    Some(Image { href: capture.link(href, budget), ..Image::default() })
}

/// A person in one text: `mail@example.org (Name)`, `Name <mail@example.org>`, `Name (mail@example.org)`, or one of them.
pub(super) fn person_from_text(text: &str) -> Person {
    let text = plain(text);
    let text = text.trim();
    if !text.contains('@') {
        return Person { name: (!text.is_empty()).then(|| text.to_owned()), ..Person::default() };
    }
    let Some(email) = text.split(|c: char| c.is_whitespace() || "<>()[],;\"".contains(c)).find(|word| is_email(word))
    else {
        return Person { name: (!text.is_empty()).then(|| text.to_owned()), ..Person::default() };
    };
    let rest = text.replacen(email, "", 1);
    let name = rest.replace("mailto:", "");
    let name = name.trim().trim_matches(|c: char| c.is_whitespace() || "<>()[]\"".contains(c)).trim();
    let email = email.trim_start_matches("mailto:").to_owned();
    Person { name: (!name.is_empty()).then(|| name.to_owned()), email: Some(email), url: None }
}

fn is_email(word: &str) -> bool {
    let word = word.trim_start_matches("mailto:");
    word.split_once('@').is_some_and(|(user, host)| {
        !user.is_empty() && host.contains('.') && !host.ends_with('.') && !host.contains(['@', '/'])
    })
}

/// `1:02:03`, `62:03` or seconds.
pub(super) fn duration_secs(text: &str) -> Option<u32> {
    text.split(':').try_fold(0u32, |total, part| {
        let part: f64 = part.trim().parse().ok().filter(|part| (0.0..1e9).contains(part))?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range above")]
        total.checked_mul(60)?.checked_add(part as u32)
    })
}

pub(super) fn period_secs(text: &str) -> Option<u32> {
    const HOUR: u32 = 3600;
    Some(match text.to_ascii_lowercase().as_str() {
        "hourly" => HOUR,
        "daily" => 24 * HOUR,
        "weekly" => 7 * 24 * HOUR,
        "monthly" => 30 * 24 * HOUR,
        "yearly" => 365 * 24 * HOUR,
        _ => return None,
    })
}

/// `en_US` is what some write for `en-US`.
pub(super) fn language_tag(language: &str) -> String {
    language.replace('_', "-")
}

/// A day's number, 0 for Monday.
pub(super) fn day(text: &str) -> Option<u32> {
    const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    let text = text.to_ascii_lowercase();
    DAYS.iter().position(|day| text.starts_with(day)).and_then(|day| u32::try_from(day).ok())
}

/// What a feed's root says that it is.
pub(super) fn version(element: &Element<'_, '_>) -> &'static str {
    let has = |uri: &str| {
        element.attributes.iter().filter(|(name, _)| name.starts_with("xmlns")).any(|(_, value)| value.contains(uri))
    };
    let stated = element.attributes.get("version").unwrap_or_default().trim();
    match element.local.to_ascii_lowercase().as_str() {
        "rss" => match stated {
            "0.90" => "rss090",
            "0.91" => "rss091u",
            "0.92" => "rss092",
            "0.93" => "rss093",
            "0.94" => "rss094",
            _ if stated.starts_with('2') => "rss20",
            _ => "rss",
        },
        "rdf" if has("my.netscape.com/rdf/simple/0.9") || has("channel.netscape.com/rdf") => "rss090",
        "rdf" => "rss10",
        "feed" if has("purl.org/atom/ns#") || stated == "0.3" => "atom03",
        "feed" | "entry" if has("w3.org/2005/Atom") => "atom10",
        "feed" | "entry" => "atom",
        // RSS has no attributes on its channel; CDF has nothing without them.
        "channel"
            if element.attributes.get("href").is_some()
                || element.attributes.get("lastmod").is_some()
                || element.local == "CHANNEL" =>
        {
            "cdf"
        }
        _ => "rss",
    }
}
