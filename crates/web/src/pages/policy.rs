//! What a page may load, run and send.

use std::sync::LazyLock;

use axum::http::HeaderValue;

/// Where the players that the sanitiser knows are framed from. A PeerTube can be anywhere; those open in a tab of their
/// own, because a policy that allows any frame is none.
const PLAYERS: [&str; 38] = [
    "anchor.fm",
    "archive.org",
    "audiomack.com",
    "bandcamp.com",
    "clips.twitch.tv",
    "codepen.io",
    "embed.acast.com",
    "embed.music.apple.com",
    "embed.nicovideo.jp",
    "embed.podcasts.apple.com",
    "embed.ted.com",
    "embed.tidal.com",
    "fast.wistia.net",
    "geo.dailymotion.com",
    "giphy.com",
    "odysee.com",
    "open.spotify.com",
    "platform.twitter.com",
    "player-widget.mixcloud.com",
    "player.bilibili.com",
    "player.twitch.tv",
    "player.vimeo.com",
    "podcasters.spotify.com",
    "rumble.com",
    "share.transistor.fm",
    "streamable.com",
    "vimeo.com",
    "w.soundcloud.com",
    "widget.deezer.com",
    "www.bitchute.com",
    "www.facebook.com",
    "www.instagram.com",
    "www.loom.com",
    "www.mixcloud.com",
    "www.tiktok.com",
    "www.youtube-nocookie.com",
    "www.youtube.com",
    "youtube-nocookie.com",
];

/// The name of the one policy that may make HTML of a text: that of `entry_html.js`.
const TRUSTED: &str = "pirssonite-entry";

/// Nothing by default; scripts and styles of ours alone, none inline. Pictures and sound come from their publishers.
static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| written("'self' http: https: data:"));

/// The same where this server fetches the pictures.
static PROXIED: LazyLock<HeaderValue> = LazyLock::new(|| written("'self' data:"));

/// The policy of a page.
pub(super) fn policy(has_proxied_pictures: bool) -> HeaderValue {
    if has_proxied_pictures { PROXIED.clone() } else { POLICY.clone() }
}

fn written(pictures: &str) -> HeaderValue {
    let frames: String = PLAYERS.iter().flat_map(|host| [" https://", host]).collect();
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src {pictures}; \
         media-src http: https:; connect-src 'self'; manifest-src 'self'; frame-src{frames}; form-action 'self'; \
         base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types {TRUSTED}"
    );
    HeaderValue::try_from(policy).unwrap_or(HeaderValue::from_static("default-src 'none'"))
}

/// The hosts of players, for the script that puts one in the place of its link.
pub(super) fn players() -> String {
    PLAYERS.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1b_policy_is_strict() {
        let policy = POLICY.to_str().unwrap();
        assert!(policy.contains("img-src 'self' http: https: data:;"), "{policy}");
        assert!(PROXIED.to_str().unwrap().contains("img-src 'self' data:;"));
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        for never in ["unsafe", "*", "script-src 'self' "] {
            assert!(!policy.contains(never), "{never}: {policy}");
        }
        assert!(PLAYERS.is_sorted());
    }
}
