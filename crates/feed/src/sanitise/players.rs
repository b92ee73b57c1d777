//! The sites whose players are known: where a person watches or listens, the still picture where its address follows
//! from that of the player, and the player itself in the one form that comes out.

use url::Url;

use crate::limits::URL_BYTES_MAX;

/// What a player plays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Player {
    /// The page that a person opens.
    pub(super) page: String,
    /// A picture of it.
    pub(super) still: Option<String>,
    /// What a page puts into a frame to play it in place.
    pub(super) embed: String,
}

/// The addresses of one kind of player: host, path and query as patterns for [`gaps`]; then the page, the still picture (or nothing) and the player with those in the order taken.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str);

/// Hosts are written without `www.` and `m.`; `*` is any, for software that everybody can run. The first row that fits
/// counts.
#[rustfmt::skip]
const ROWS: [Row; 60] = [
    ("player.vimeo.com", "/video/{}?h={}", "https://vimeo.com/{0}/{1}", "", "https://player.vimeo.com/video/{0}?h={1}"),
    ("player.vimeo.com", "/video/{}", "https://vimeo.com/{0}", "", "https://player.vimeo.com/video/{0}"),
    ("vimeo.com", "/moogaloop.swf?clip_id={}", "https://vimeo.com/{0}", "", "https://player.vimeo.com/video/{0}"),
    ("vimeo.com", "/event/{}/embed", "https://vimeo.com/event/{0}", "", "https://vimeo.com/event/{0}/embed"),
    ("open.spotify.com", "/embed/{}/{}", "https://open.spotify.com/{0}/{1}", "", "https://open.spotify.com/embed/{0}/{1}"),
    ("open.spotify.com", "/embed-podcast/{}/{}", "https://open.spotify.com/{0}/{1}", "", "https://open.spotify.com/embed/{0}/{1}"),
    ("embed.spotify.com", "?uri=spotify:{}:{}", "https://open.spotify.com/{0}/{1}", "", "https://open.spotify.com/embed/{0}/{1}"),
    ("dailymotion.com", "/embed/video/{}", DAILYMOTION.0, DAILYMOTION.1, DAILYMOTION.2),
    ("dailymotion.com", "/swf/video/{}", DAILYMOTION.0, DAILYMOTION.1, DAILYMOTION.2),
    ("dailymotion.com", "/video/{}", DAILYMOTION.0, DAILYMOTION.1, DAILYMOTION.2),
    ("geo.dailymotion.com", "/player.html?video={}", DAILYMOTION.0, DAILYMOTION.1, DAILYMOTION.2),
    ("geo.dailymotion.com", "/player/{}?video={}", "https://www.dailymotion.com/video/{1}", "https://www.dailymotion.com/thumbnail/video/{1}", "https://geo.dailymotion.com/player.html?video={1}"),
    ("dai.ly", "/{}", DAILYMOTION.0, DAILYMOTION.1, DAILYMOTION.2),
    ("bandcamp.com", "/EmbeddedPlayer/{*}", "https://bandcamp.com/EmbeddedPlayer/{0}", "", "https://bandcamp.com/EmbeddedPlayer/{0}"),
    ("player.twitch.tv", "/?channel={}", "https://www.twitch.tv/{0}", "", "https://player.twitch.tv/?channel={0}"),
    ("player.twitch.tv", "/?video=v{}", "https://www.twitch.tv/videos/{0}", "", "https://player.twitch.tv/?video={0}"),
    ("player.twitch.tv", "/?video={}", "https://www.twitch.tv/videos/{0}", "", "https://player.twitch.tv/?video={0}"),
    ("clips.twitch.tv", "/embed?clip={}", "https://clips.twitch.tv/{0}", "", "https://clips.twitch.tv/embed?clip={0}"),
    ("embed.podcasts.apple.com", "/{*}?i={}", "https://podcasts.apple.com/{0}?i={1}", "", "https://embed.podcasts.apple.com/{0}?i={1}"),
    ("embed.podcasts.apple.com", "/{*}", "https://podcasts.apple.com/{0}", "", "https://embed.podcasts.apple.com/{0}"),
    ("embed.music.apple.com", "/{*}?i={}", "https://music.apple.com/{0}?i={1}", "", "https://embed.music.apple.com/{0}?i={1}"),
    ("embed.music.apple.com", "/{*}", "https://music.apple.com/{0}", "", "https://embed.music.apple.com/{0}"),
    ("widget.deezer.com", "/widget/{}/{}/{}", "https://www.deezer.com/{1}/{2}", "", "https://widget.deezer.com/widget/{0}/{1}/{2}"),
    ("embed.tidal.com", "/tracks/{}", "https://tidal.com/browse/track/{0}", "", "https://embed.tidal.com/tracks/{0}"),
    ("embed.tidal.com", "/albums/{}", "https://tidal.com/browse/album/{0}", "", "https://embed.tidal.com/albums/{0}"),
    ("audiomack.com", "/embed/song/{}/{}", "https://audiomack.com/{0}/song/{1}", "", "https://audiomack.com/embed/song/{0}/{1}"),
    ("audiomack.com", "/embed/album/{}/{}", "https://audiomack.com/{0}/album/{1}", "", "https://audiomack.com/embed/album/{0}/{1}"),
    ("mixcloud.com", "/widget/iframe?feed=/{}/{}/", MIXCLOUD.0, "", MIXCLOUD.1),
    ("mixcloud.com", "/widget/iframe/?feed=/{}/{}/", MIXCLOUD.0, "", MIXCLOUD.1),
    ("player-widget.mixcloud.com", "/widget/iframe/?feed=/{}/{}/", MIXCLOUD.0, "", MIXCLOUD.1),
    ("archive.org", "/embed/{}", "https://archive.org/details/{0}", "https://archive.org/services/img/{0}", "https://archive.org/embed/{0}"),
    ("embed.ted.com", "/talks/{*}", "https://www.ted.com/talks/{0}", "", "https://embed.ted.com/talks/{0}"),
    ("odysee.com", "/$/embed/{*}", "https://odysee.com/{0}", "", "https://odysee.com/$/embed/{0}"),
    ("bitchute.com", "/embed/{}", "https://www.bitchute.com/video/{0}", "", "https://www.bitchute.com/embed/{0}"),
    ("streamable.com", "/e/{}", STREAMABLE.0, "", STREAMABLE.1),
    ("streamable.com", "/o/{}", STREAMABLE.0, "", STREAMABLE.1),
    ("streamable.com", "/s/{}", STREAMABLE.0, "", STREAMABLE.1),
    ("player.bilibili.com", "/player.html?bvid={}", "https://www.bilibili.com/video/{0}", "", "https://player.bilibili.com/player.html?bvid={0}"),
    ("player.bilibili.com", "/player.html?aid={}", "https://www.bilibili.com/video/av{0}", "", "https://player.bilibili.com/player.html?aid={0}"),
    ("embed.nicovideo.jp", "/watch/{}", "https://www.nicovideo.jp/watch/{0}", "", "https://embed.nicovideo.jp/watch/{0}"),
    ("loom.com", "/embed/{}", "https://www.loom.com/share/{0}", "", "https://www.loom.com/embed/{0}"),
    ("giphy.com", "/embed/{}", "https://giphy.com/gifs/{0}", "https://media.giphy.com/media/{0}/giphy_s.gif", "https://giphy.com/embed/{0}"),
    ("codepen.io", "/{}/embed/{}", "https://codepen.io/{0}/pen/{1}", "", "https://codepen.io/{0}/embed/{1}"),
    ("codepen.io", "/{}/embed/preview/{}", "https://codepen.io/{0}/pen/{1}", "", "https://codepen.io/{0}/embed/{1}"),
    // The page has another name, which the player's address does not tell.
    ("rumble.com", "/embed/{}", "https://rumble.com/embed/{0}/", "", "https://rumble.com/embed/{0}/"),
    ("fast.wistia.net", "/embed/iframe/{}", WISTIA.0, WISTIA.1, WISTIA.0),
    ("fast.wistia.com", "/embed/iframe/{}", WISTIA.0, WISTIA.1, WISTIA.0),
    ("tiktok.com", "/embed/v2/{}", TIKTOK.0, "", TIKTOK.1),
    ("tiktok.com", "/embed/{}", TIKTOK.0, "", TIKTOK.1),
    ("tiktok.com", "/player/v1/{}", TIKTOK.0, "", TIKTOK.1),
    ("instagram.com", "/p/{}/embed", INSTAGRAM.0, "", INSTAGRAM.1),
    ("instagram.com", "/p/{}/embed/captioned", INSTAGRAM.0, "", INSTAGRAM.1),
    ("platform.twitter.com", "/embed/Tweet.html?id={}", "https://twitter.com/i/status/{0}", "", "https://platform.twitter.com/embed/Tweet.html?id={0}"),
    ("share.transistor.fm", "/e/{}", "https://share.transistor.fm/s/{0}", "", "https://share.transistor.fm/e/{0}"),
    ("embed.acast.com", "/{}/{}", "https://play.acast.com/s/{0}/{1}", "", "https://embed.acast.com/{0}/{1}"),
    ("anchor.fm", "/{}/embed/episodes/{}", "https://anchor.fm/{0}/episodes/{1}", "", "https://anchor.fm/{0}/embed/episodes/{1}"),
    ("podcasters.spotify.com", "/pod/show/{}/embed/episodes/{}", "https://podcasters.spotify.com/pod/show/{0}/episodes/{1}", "", "https://podcasters.spotify.com/pod/show/{0}/embed/episodes/{1}"),
    // PeerTube, on whatever host.
    ("*", "/videos/embed/{}", "https://{host}/w/{0}", "", "https://{host}/videos/embed/{0}"),
    ("*", "/video-playlists/embed/{}", "https://{host}/w/p/{0}", "", "https://{host}/video-playlists/embed/{0}"),
    ("*", "/w/embed/{}", "https://{host}/w/{0}", "", "https://{host}/videos/embed/{0}"),
];

const DAILYMOTION: (&str, &str, &str) = (
    "https://www.dailymotion.com/video/{0}",
    "https://www.dailymotion.com/thumbnail/video/{0}",
    "https://geo.dailymotion.com/player.html?video={0}",
);
const MIXCLOUD: (&str, &str) =
    ("https://www.mixcloud.com/{0}/{1}/", "https://player-widget.mixcloud.com/widget/iframe/?feed=/{0}/{1}/");
const STREAMABLE: (&str, &str) = ("https://streamable.com/{0}", "https://streamable.com/e/{0}");
const WISTIA: (&str, &str) =
    ("https://fast.wistia.net/embed/iframe/{0}", "https://fast.wistia.com/embed/medias/{0}/swatch");
/// Whoever published it: the site finds the name by the number.
const TIKTOK: (&str, &str) = ("https://www.tiktok.com/@_/video/{0}", "https://www.tiktok.com/player/v1/{0}");
const INSTAGRAM: (&str, &str) = ("https://www.instagram.com/p/{0}/", "https://www.instagram.com/p/{0}/embed");

/// Players that take the page to play as a parameter: host, path, parameter, and the site that the page is on.
const BY_PARAMETER: [(&str, &str, &str, &str); 4] = [
    ("w.soundcloud.com", "/player", "url", "soundcloud.com"),
    ("facebook.com", "/plugins/video.php", "href", "facebook.com"),
    ("facebook.com", "/plugins/post.php", "href", "facebook.com"),
    ("mixcloud.com", "/widget/iframe", "feed", "mixcloud.com"),
];

/// What the player at an address plays; `None` if it is none that is known. `link` is one that stands in its frame for
/// those who cannot see it: where the address says nothing of the page, that may.
pub(super) fn recognise(address: &str, link: Option<&str>) -> Option<Player> {
    if address.len() > URL_BYTES_MAX {
        return None;
    }
    let url = Url::parse(address).ok().filter(|url| matches!(url.scheme(), "http" | "https"))?;
    let host = url.host_str()?;
    let host = host.strip_prefix("www.").or_else(|| host.strip_prefix("m.")).unwrap_or(host);
    let mut player = youtube(&url, host).or_else(|| by_parameter(&url, host)).or_else(|| listed(&url, host))?;
    if host == "bandcamp.com"
        && let Some(page) = link.filter(|link| is_on(link, "bandcamp.com"))
    {
        page.clone_into(&mut player.page);
    }
    Some(player)
}

fn listed(url: &Url, host: &str) -> Option<Player> {
    ROWS.iter().filter(|row| row.0 == host || row.0 == "*").find_map(|(_, pattern, page, still, embed)| {
        let taken = taken(url, pattern)?;
        let authority = url.as_str().split('/').nth(2)?;
        // A name and a password are nobody's business, and no part of the host.
        let authority = authority.rsplit('@').next()?;
        let filled = |template: &str| {
            let filled = template.replace("{host}", authority);
            taken.iter().enumerate().fold(filled, |filled, (at, value)| filled.replace(&format!("{{{at}}}"), value))
        };
        Some(Player { page: filled(page), still: (!still.is_empty()).then(|| filled(still)), embed: filled(embed) })
    })
}

/// What stands in an address where the patterns of its path and its query have their gaps.
fn taken(url: &Url, pattern: &str) -> Option<Vec<String>> {
    let (path, query) = pattern.split_once('?').unwrap_or((pattern, ""));
    let slashed = |path| str::trim_matches(path, '/');
    let mut taken = gaps(slashed(path), slashed(url.path()), '/')?;
    if let Some((name, pattern)) = query.split_once('=') {
        let (_, value) = url.query_pairs().find(|(key, _)| key == name)?;
        taken.extend(gaps(pattern, &value, if pattern.contains(':') { ':' } else { '/' })?);
    }
    let is_fit = |value: &String| {
        !value.is_empty() && value.chars().all(|c| c.is_ascii_alphanumeric() || "-._~:@=%/$".contains(c))
    };
    taken.iter().all(is_fit).then_some(taken)
}

/// What stands in a value where a pattern has its gaps: `{}` is the rest of a part, `{*}` that of the value.
fn gaps(pattern: &str, value: &str, separator: char) -> Option<Vec<String>> {
    let mut taken = Vec::new();
    let mut rest = Some(value);
    for wanted in pattern.split(separator) {
        let left = rest?;
        let (found, after) = match left.split_once(separator) {
            Some((found, after)) if !wanted.ends_with("{*}") => (found, Some(after)),
            _ => (left, None),
        };
        rest = after;
        match wanted.split_once('{') {
            Some((start, _)) => taken.push(found.strip_prefix(start)?.to_owned()),
            None if wanted == found => {}
            None => return None,
        }
    }
    rest.is_none().then_some(taken)
}

fn youtube(url: &Url, host: &str) -> Option<Player> {
    if !matches!(host, "youtube.com" | "youtube-nocookie.com" | "music.youtube.com" | "youtu.be") {
        return None;
    }
    let parameter = |name: &str| {
        let found = url.query_pairs().find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned()).filter(|value| is_youtube_name(value))
    };
    let mut segments = url.path().trim_matches('/').split('/');
    let (kind, named) = match (host, segments.next()?, segments.next()) {
        ("youtu.be", id, _) => ("v", id.to_owned()),
        (_, "watch", _) => ("v", parameter("v")?),
        (_, "embed", Some("videoseries")) | (_, "playlist", _) => ("list", parameter("list")?),
        (_, "embed", None) => ("list", parameter("list")?),
        (_, "embed", Some("live_stream")) => ("channel", parameter("channel")?),
        // What `/v/` had behind an `&` were settings.
        (_, "embed" | "v" | "e" | "shorts" | "live", Some(id)) => ("v", id.split('&').next()?.to_owned()),
        _ => return None,
    };
    if !is_youtube_name(&named) {
        return None;
    }
    let (page, embed) = match kind {
        "list" => (
            format!("https://www.youtube.com/playlist?list={named}"),
            format!("https://www.youtube-nocookie.com/embed/videoseries?list={named}"),
        ),
        "channel" => (
            format!("https://www.youtube.com/channel/{named}/live"),
            format!("https://www.youtube-nocookie.com/embed/live_stream?channel={named}"),
        ),
        _ => {
            let start = ["start", "t"].into_iter().find_map(parameter).and_then(|time| seconds(&time));
            let (at, from) =
                start.map_or_else(Default::default, |secs| (format!("&t={secs}s"), format!("?start={secs}")));
            (
                format!("https://www.youtube.com/watch?v={named}{at}"),
                format!("https://www.youtube-nocookie.com/embed/{named}{from}"),
            )
        }
    };
    let still = (kind == "v").then(|| format!("https://i.ytimg.com/vi/{named}/hqdefault.jpg"));
    Some(Player { page, still, embed })
}

fn is_youtube_name(value: &str) -> bool {
    (1..=64).contains(&value.len())
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
}

/// `90`, `90s`; the beginning is no time to jump to.
fn seconds(time: &str) -> Option<u32> {
    time.trim_end_matches('s').parse().ok().filter(|secs| *secs > 0)
}

fn by_parameter(url: &Url, host: &str) -> Option<Player> {
    let path = url.path().trim_end_matches('/');
    let (.., parameter, site) = BY_PARAMETER.iter().find(|(known, at, ..)| *known == host && *at == path)?;
    let (_, value) = url.query_pairs().find(|(key, _)| key == parameter)?;
    let target = Url::parse(&value).ok().filter(|target| is_on(target.as_str(), site))?;
    let mut embed = Url::parse(&format!("https://{}{}", url.host_str()?, url.path())).ok()?;
    embed.query_pairs_mut().append_pair(parameter, target.as_str());
    // What only programs can open is left to the player.
    let is_page = !target.host_str()?.starts_with("api");
    let page = if is_page { target.to_string() } else { embed.to_string() };
    Some(Player { page, still: None, embed: embed.into() })
}

/// Whether a link leads to a page of a site or of one below it.
fn is_on(link: &str, site: &str) -> bool {
    let Ok(url) = Url::parse(link) else { return false };
    let is_below = |host: &str| host.strip_suffix(site).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    matches!(url.scheme(), "http" | "https") && url.host_str().is_some_and(is_below) && !link.contains('@')
}

#[cfg(test)]
mod tests {
    use super::*;

    const YOUTUBE_STILL: &str = "https://i.ytimg.com/vi/a-b_c123456/hqdefault.jpg";

    #[test]
    fn f3_players_link_to_their_page() {
        for (address, page, still) in [
            (
                "https://www.youtube.com/embed/a-b_c123456?feature=oembed",
                "https://www.youtube.com/watch?v=a-b_c123456",
                YOUTUBE_STILL,
            ),
            (
                "http://www.youtube-nocookie.com/embed/a-b_c123456?start=90",
                "https://www.youtube.com/watch?v=a-b_c123456&t=90s",
                YOUTUBE_STILL,
            ),
            (
                "https://www.youtube.com/v/a-b_c123456&hl=en",
                "https://www.youtube.com/watch?v=a-b_c123456",
                YOUTUBE_STILL,
            ),
            ("https://youtu.be/a-b_c123456?t=5s", "https://www.youtube.com/watch?v=a-b_c123456&t=5s", YOUTUBE_STILL),
            ("https://www.youtube.com/embed/videoseries?list=PLx", "https://www.youtube.com/playlist?list=PLx", ""),
            ("https://www.youtube.com/embed/live_stream?channel=UCx", "https://www.youtube.com/channel/UCx/live", ""),
            ("https://player.vimeo.com/video/123?h=abc&dnt=1", "https://vimeo.com/123/abc", ""),
            ("https://player.vimeo.com/video/123", "https://vimeo.com/123", ""),
            (
                "https://tube.example/videos/embed/9c9de5e8-0a1e-484a-b099-e80766180a6d?warningTitle=0",
                "https://tube.example/w/9c9de5e8-0a1e-484a-b099-e80766180a6d",
                "",
            ),
            ("https://tube.example:8443/video-playlists/embed/x", "https://tube.example:8443/w/p/x", ""),
            (
                "https://open.spotify.com/embed/episode/7makk4oTQel?utm_source=generator",
                "https://open.spotify.com/episode/7makk4oTQel",
                "",
            ),
            ("https://open.spotify.com/embed-podcast/show/x", "https://open.spotify.com/show/x", ""),
            ("https://embed.spotify.com/?uri=spotify:track:x", "https://open.spotify.com/track/x", ""),
            (
                "https://w.soundcloud.com/player/?url=https%3A//soundcloud.com/a/b&color=x",
                "https://soundcloud.com/a/b",
                "",
            ),
            (
                "https://w.soundcloud.com/player/?url=https%3A//api.soundcloud.com/tracks/1&auto_play=true",
                "https://w.soundcloud.com/player/?url=https%3A%2F%2Fapi.soundcloud.com%2Ftracks%2F1",
                "",
            ),
            (
                "https://www.dailymotion.com/embed/video/x7?autoplay=1",
                "https://www.dailymotion.com/video/x7",
                "https://www.dailymotion.com/thumbnail/video/x7",
            ),
            (
                "https://geo.dailymotion.com/player/xyz.html?video=x7",
                "https://www.dailymotion.com/video/x7",
                "https://www.dailymotion.com/thumbnail/video/x7",
            ),
            (
                "https://bandcamp.com/EmbeddedPlayer/album=1/size=large/",
                "https://bandcamp.com/EmbeddedPlayer/album=1/size=large",
                "",
            ),
            ("https://player.twitch.tv/?channel=x&parent=e.org", "https://www.twitch.tv/x", ""),
            ("https://player.twitch.tv/?video=v12&parent=e.org", "https://www.twitch.tv/videos/12", ""),
            ("https://clips.twitch.tv/embed?clip=Abc", "https://clips.twitch.tv/Abc", ""),
            (
                "https://embed.podcasts.apple.com/us/podcast/x/id1?i=2&theme=auto",
                "https://podcasts.apple.com/us/podcast/x/id1?i=2",
                "",
            ),
            ("https://embed.music.apple.com/us/album/x/1", "https://music.apple.com/us/album/x/1", ""),
            ("https://widget.deezer.com/widget/dark/playlist/1", "https://www.deezer.com/playlist/1", ""),
            (
                "https://www.mixcloud.com/widget/iframe/?hide_cover=1&feed=%2Fa%2Fb%2F",
                "https://www.mixcloud.com/a/b/",
                "",
            ),
            ("https://rumble.com/embed/v1abc2/?pub=4", "https://rumble.com/embed/v1abc2/", ""),
            (
                "https://fast.wistia.com/embed/iframe/a1b2?seo=true",
                "https://fast.wistia.net/embed/iframe/a1b2",
                "https://fast.wistia.com/embed/medias/a1b2/swatch",
            ),
            ("https://www.tiktok.com/embed/v2/7106?lang=en", "https://www.tiktok.com/@_/video/7106", ""),
            ("https://www.tiktok.com/player/v1/7106?rel=0", "https://www.tiktok.com/@_/video/7106", ""),
            ("https://archive.org/embed/x", "https://archive.org/details/x", "https://archive.org/services/img/x"),
            (
                "https://www.facebook.com/plugins/video.php?height=1&href=https%3A%2F%2Fwww.facebook.com%2Fa%2Fvideos%2F1",
                "https://www.facebook.com/a/videos/1",
                "",
            ),
        ] {
            let player = recognise(address, None).unwrap_or_else(|| panic!("{address}"));
            assert_eq!((player.page.as_str(), player.still.as_deref().unwrap_or_default()), (page, still), "{address}");
        }
    }

    /// What comes out is known again as the same: a link that was marked stays so.
    #[test]
    fn f3_player_embeds_are_recognised_again() {
        let filled = |template: &str| {
            ["{0}", "{1}", "{2}"]
                .iter()
                .fold(template.replace("{host}", "tube.example"), |it, gap| it.replace(gap, "x1"))
        };
        for (host, pattern, _, _, embed) in ROWS {
            let player = recognise(&filled(embed), None).unwrap_or_else(|| panic!("{host}{pattern}"));
            assert_eq!(player.embed, filled(embed), "{host}{pattern}");
        }
        for address in [
            "https://www.youtube.com/embed/x?start=9",
            "https://w.soundcloud.com/player/?url=https%3A//soundcloud.com/a/b%3Fc",
        ] {
            let player = recognise(address, None).expect(address);
            assert_eq!(recognise(&player.embed, None), Some(player));
        }
    }

    #[test]
    fn f3_other_addresses_are_no_players() {
        for address in [
            "https://youtube.com.evil.example/embed/x",
            "https://evil.example/?https://www.youtube.com/embed/x",
            "javascript:https://www.youtube.com/embed/x",
            "https://www.youtube.com/embed/\"><script>",
            "https://www.youtube.com/",
            "https://w.soundcloud.com/player/?url=https://evil.example/soundcloud.com",
            "https://w.soundcloud.com/player/?url=javascript:x",
            "https://open.spotify.com/embed/x/y/z",
            "https://e.org/",
            "x",
        ] {
            assert_eq!(recognise(address, None), None, "{address}");
        }
    }
}
