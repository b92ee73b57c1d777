//! What the demo's feeds say: invented, in several languages and scripts, a file each in `contents/`.

use serde::Deserialize;

/// The files by the names that the feeds have in URLs, in the order in which they are followed.
const FILES: [(&str, &str); 13] = [
    ("harbour", include_str!("contents/harbour.toml")),
    ("lighthouse", include_str!("contents/lighthouse.toml")),
    ("garden", include_str!("contents/garden.toml")),
    ("tea", include_str!("contents/tea.toml")),
    ("wood", include_str!("contents/wood.toml")),
    ("stars", include_str!("contents/stars.toml")),
    ("station", include_str!("contents/station.toml")),
    ("rain", include_str!("contents/rain.toml")),
    ("radio", include_str!("contents/radio.toml")),
    ("drawings", include_str!("contents/drawings.toml")),
    ("programs", include_str!("contents/programs.toml")),
    ("bicycle", include_str!("contents/bicycle.toml")),
    ("gazette", include_str!("contents/gazette.toml")),
];

/// The format that a feed is published in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Format {
    Rss,
    Atom,
    Json,
    HFeed,
}

/// A feed, before anything of it is published.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Content {
    /// Its name in URLs.
    #[serde(skip)]
    pub(super) name: &'static str,
    pub(super) title: String,
    /// As `lang` has it.
    pub(super) language: String,
    pub(super) author: String,
    /// The folder that the reader puts it in.
    pub(super) folder: String,
    pub(super) about: String,
    pub(super) format: Format,
    /// Whether it names the demo's hub; else it is polled.
    pub(super) has_hub: bool,
    /// Whether its server fails once it is followed.
    #[serde(default)]
    pub(super) fails: bool,
    /// What it publishes, over and over.
    pub(super) posts: Vec<PostContent>,
}

/// A post. `{number}` in its texts is how many there were before it, and one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PostContent {
    pub(super) title: Option<String>,
    pub(super) summary: Option<String>,
    pub(super) html: String,
    /// What its picture shows, if it has one.
    pub(super) picture: Option<String>,
    /// Whether it is an episode of a podcast.
    #[serde(default)]
    pub(super) has_sound: bool,
    #[serde(default)]
    pub(super) categories: Vec<String>,
}

pub(super) fn read() -> Vec<Content> {
    let read = |(name, text): (&'static str, &str)| {
        let content: Content = toml::from_str(text).expect("a test reads every file");
        Content { name, ..content }
    };
    FILES.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn u5_demo_has_a_dozen_feeds_in_all_formats_and_many_languages() {
        let contents = read();
        let languages: HashSet<&str> = contents.iter().map(|content| content.language.as_str()).collect();
        let names: HashSet<&str> = contents.iter().map(|content| content.name).collect();
        assert!(names.len() >= 12 && languages.len() >= 10, "{languages:?}");
        for format in [Format::Rss, Format::Atom, Format::Json, Format::HFeed] {
            assert!(contents.iter().any(|content| content.format == format && content.has_hub), "{format:?}");
        }
        assert!(contents.iter().all(|content| !content.posts.is_empty()));
        assert_eq!(contents.iter().filter(|content| content.fails).count(), 1);
        assert!(contents.iter().any(|content| content.posts.iter().all(|post| post.has_sound)), "a podcast");
        for part in ["<table", "<pre><code", "<math", "href=\"#n1\"", "<ruby"] {
            let has = |content: &Content| content.posts.iter().any(|post| post.html.contains(part));
            assert!(contents.iter().any(has), "{part}");
        }
    }
}
