//! Pictures in entries at addresses of this server, where the operator wants that (`image_proxy`). The stored text stays as
//! it is, and so does what the API says unless it is asked for this.

use axum::{
    extract::{Path, State},
    http::{HeaderMap, HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{Entry, picture::PictureSigner};
use engine::{NoPicture, Picture};

use crate::{
    auth::Actor,
    error::{ApiError, ApiResult},
    state::AppState,
};

/// A publisher's picture does not change at its address, as a rule.
const CACHE: &str = "private, max-age=604800";

/// Elements with pictures, and which attribute has what.
const PICTURES: [(&str, &[(&str, Kind)]); 3] = [
    ("<img ", &[("src", Kind::Address), ("srcset", Kind::Candidates)]),
    ("<source ", &[("srcset", Kind::Candidates)]),
    ("<video ", &[("poster", Kind::Address)]),
];

#[derive(Debug, Clone, Copy)]
enum Kind {
    Address,
    /// Of several sizes, with commas between them.
    Candidates,
}

/// A picture that was shown to somebody here.
pub(super) async fn get(
    State(state): State<AppState>,
    actor: Actor,
    Path((signature, place)): Path<(String, String)>,
    headers: HeaderMap,
) -> ApiResult<Response> {
    let none = ApiError::NotFound("picture");
    let Some(pictures) = &state.settings.pictures else { return Err(none) };
    let Some(url) = pictures.signer.url_of(&signature, &place) else { return Err(none) };
    let tag = format!("\"{signature}\"");
    let fixed: [(HeaderName, &str); 2] = [(header::ETAG, &tag), (header::CACHE_CONTROL, CACHE)];
    if crate::routes::is_known(&headers, &tag) {
        return Ok((StatusCode::NOT_MODIFIED, fixed).into_response());
    }
    match pictures.get(actor.account, &url).await {
        Ok(Picture { kind, bytes }) => Ok((fixed, [(header::CONTENT_TYPE, kind.mime())], bytes).into_response()),
        Err(NoPicture::NotThere) => Err(none),
        Err(NoPicture::Unreachable) => Err(ApiError::BadGateway("its publisher did not answer".to_owned())),
        Err(NoPicture::Busy) => Err(ApiError::Unavailable("too many pictures at once; try again later")),
    }
}

/// An entry whose pictures are at addresses of this server, if the operator wants that.
pub(crate) fn proxied(state: &AppState, mut entry: Entry) -> Entry {
    let Some(pictures) = &state.settings.pictures else { return entry };
    let signer = &pictures.signer;
    for text in [&mut entry.summary, &mut entry.content].into_iter().flatten() {
        *text = rewritten(text, signer);
    }
    for file in &mut entry.enclosures {
        if file.mime.as_deref().is_some_and(|mime| mime.starts_with("image/")) {
            file.url = address(&file.url, signer);
        }
    }
    entry
}

/// Sanitised HTML has `<` and `>` nowhere but at the ends of its tags, and its values stand in double quotes.
fn rewritten(html: &str, signer: &PictureSigner) -> String {
    let mut pieces = html.split('<');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let whole = format!("<{piece}");
        match PICTURES.iter().find(|(element, _)| whole.starts_with(element)) {
            Some((_, attributes)) => out += &rewritten_tag(&whole, attributes, signer),
            None => out += &whole,
        }
    }
    out
}

fn rewritten_tag(piece: &str, attributes: &[(&str, Kind)], signer: &PictureSigner) -> String {
    let (tag, rest) = piece.split_at(piece.find('>').unwrap_or(piece.len()));
    let mut tag = tag.to_owned();
    for (name, kind) in attributes {
        let before = format!(" {name}=\"");
        let Some(from) = tag.find(&before).map(|at| at + before.len()) else { continue };
        let Some(length) = tag[from..].find('"') else { continue };
        // Where the sanitiser writes a character as a reference, it writes `&amp;`, `&quot;` and the like.
        let value = unescaped(&tag[from..from + length]);
        let new = match kind {
            Kind::Address => address(&value, signer),
            Kind::Candidates => candidates(&value, signer),
        };
        tag.replace_range(from..from + length, &super::escape(&new));
    }
    tag + rest
}

/// Where a picture is for a browser: here, or within the text itself. What has no place here is not shown.
fn address(url: &str, signer: &PictureSigner) -> String {
    if url.starts_with("data:") { url.to_owned() } else { signer.path_of(url).unwrap_or_default() }
}

/// After HTML's "parse a srcset attribute": an address runs to the next white space, and may hold commas.
fn candidates(set: &str, signer: &PictureSigner) -> String {
    let mut out = Vec::new();
    let mut rest = set.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
    while !rest.is_empty() {
        let (url, after) = rest.split_at(rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len()));
        let is_alone = url.ends_with(',');
        let (size, after) = if is_alone { ("", after) } else { after.split_at(after.find(',').unwrap_or(after.len())) };
        out.push(format!("{} {}", address(url.trim_end_matches(','), signer), size.trim()).trim_end().to_owned());
        rest = after.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
    }
    out.join(", ")
}

fn unescaped(value: &str) -> String {
    if !value.contains('&') {
        return value.to_owned();
    }
    let pairs = [("&quot;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", "\u{a0}"), ("&amp;", "&")];
    pairs.iter().fold(value.to_owned(), |text, (reference, character)| text.replace(reference, character))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(url: &str) -> String {
        PictureSigner::new("key").path_of(url).unwrap()
    }

    #[test]
    fn u8_pictures_of_entries_lead_here() {
        let signer = PictureSigner::new("key");
        let (a, b, c) = (here("https://e.org/a?x=1&y=2"), here("http://e.org/b,w_2"), here("https://e.org/c"));
        for (html, expect) in [
            (
                "<p>1 &lt; 2<img src=\"https://e.org/a?x=1&amp;y=2\" alt=\"a\">after</p>".to_owned(),
                format!("<p>1 &lt; 2<img src=\"{a}\" alt=\"a\">after</p>"),
            ),
            (
                "<img alt=\" src=&quot;x\" src=\"https://e.org/c\" srcset=\"http://e.org/b,w_2 2x, https://e.org/c 640w\">"
                    .to_owned(),
                format!("<img alt=\" src=&quot;x\" src=\"{c}\" srcset=\"{b} 2x, {c} 640w\">"),
            ),
            (
                "<picture><source srcset=\"https://e.org/c\" type=\"image/webp\"></picture>".to_owned(),
                format!("<picture><source srcset=\"{c}\" type=\"image/webp\"></picture>"),
            ),
            (
                "<video src=\"https://e.org/v\" poster=\"https://e.org/c\"><source src=\"https://e.org/v\"></video>".to_owned(),
                format!("<video src=\"https://e.org/v\" poster=\"{c}\"><source src=\"https://e.org/v\"></video>"),
            ),
            ("<img src=\"data:image/png;base64,AA\">".to_owned(), "<img src=\"data:image/png;base64,AA\">".to_owned()),
            ("<img src=\"ftp://e.org/x\">".to_owned(), "<img src=\"\">".to_owned()),
            ("<a href=\"https://e.org/c\">c</a>".to_owned(), "<a href=\"https://e.org/c\">c</a>".to_owned()),
            ("<img src=\"https://e.org/c".to_owned(), "<img src=\"https://e.org/c".to_owned()),
        ] {
            assert_eq!(rewritten(&html, &signer), expect);
        }
    }

    #[test]
    fn u8_candidates_are_read_as_browsers_do() {
        let signer = PictureSigner::new("key");
        let c = here("https://e.org/c");
        for (set, expect) in [
            ("", String::new()),
            (" , ", String::new()),
            ("https://e.org/c", c.clone()),
            ("https://e.org/c, https://e.org/c 2x,", format!("{c}, {c} 2x")),
            ("https://e.org/c 2x", format!("{c} 2x")),
        ] {
            assert_eq!(candidates(set, &signer), expect, "{set}");
        }
    }
}
