//! What pages are made of: embedded, named by the hash of its content and so kept by browsers for good, and sent
//! compressed.
//!
//! Scripts are ES modules, written, read and type-checked one by one in `assets/js`. They are sent as one: a file each
//! would be a dozen requests in a row before the first key works. Joining them takes no tool, because they keep two
//! rules that a test holds: an import stands in one line, and no name at the top of one is at the top of another.

use std::{
    io::{Cursor, Write},
    sync::{LazyLock, OnceLock},
};

use axum::{
    extract::Path,
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};

/// How long a browser keeps what has its hash in its name.
const CACHE: &str = "public, max-age=31536000, immutable";
/// Characters of the hash in a name.
const HASH_CHARS: usize = 12;
/// How hard brotli tries: beyond this it takes ten times as long for a few bytes.
const BROTLI_QUALITY: i32 = 9;
const BROTLI_WINDOW: i32 = 20;

const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";
const PNG: &str = "image/png";

/// The modules, each after those that it imports.
const MODULES: [(&str, &str); 14] = [
    ("dom", include_str!("../../assets/js/dom.js")),
    ("status", include_str!("../../assets/js/status.js")),
    ("api", include_str!("../../assets/js/api.js")),
    ("entry_html", include_str!("../../assets/js/entry_html.js")),
    ("sidebar", include_str!("../../assets/js/sidebar.js")),
    ("list", include_str!("../../assets/js/list.js")),
    ("marks", include_str!("../../assets/js/marks.js")),
    ("article", include_str!("../../assets/js/article.js")),
    ("dialogs", include_str!("../../assets/js/dialogs.js")),
    ("manage", include_str!("../../assets/js/manage.js")),
    ("live", include_str!("../../assets/js/live.js")),
    ("boards", include_str!("../../assets/js/boards.js")),
    ("keys", include_str!("../../assets/js/keys.js")),
    ("main", include_str!("../../assets/js/main.js")),
];

/// Something that a page loads.
#[derive(Debug)]
pub(crate) struct Asset {
    path: String,
    kind: &'static str,
    bytes: Bytes,
    brotli: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
}

#[derive(Debug)]
pub(crate) struct Assets {
    pub(crate) page_css: Asset,
    /// For entries, which see none of the page's.
    pub(crate) entry_css: Asset,
    pub(crate) script: Asset,
    pub(crate) icon: Asset,
    /// The same as an address that holds it: a browser asks twice for one that does not.
    pub(crate) inline_icon: String,
    pub(crate) icon_192: Asset,
    pub(crate) icon_512: Asset,
    pub(crate) manifest: Asset,
}

pub(crate) static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    let icon = Asset::new("icon.svg", "image/svg+xml", super::ICON.as_bytes());
    let icon_192 = Asset::new("icon-192.png", PNG, include_bytes!("../../assets/icon-192.png"));
    let icon_512 = Asset::new("icon-512.png", PNG, include_bytes!("../../assets/icon-512.png"));
    let manifest = include_str!("../../assets/manifest.webmanifest")
        .replace("{{ICON}}", icon.path())
        .replace("{{ICON_192}}", icon_192.path())
        .replace("{{ICON_512}}", icon_512.path());
    Assets {
        page_css: Asset::new("page.css", CSS, include_bytes!("../../assets/page.css")),
        entry_css: Asset::new("entry.css", CSS, include_bytes!("../../assets/entry.css")),
        script: Asset::new("page.js", JS, joined(&MODULES).as_bytes()),
        manifest: Asset::new("manifest.webmanifest", "application/manifest+json", manifest.as_bytes()),
        icon,
        inline_icon: format!("data:image/svg+xml;base64,{}", STANDARD.encode(super::ICON)),
        icon_192,
        icon_512,
    }
});

impl Assets {
    fn all(&self) -> [&Asset; 7] {
        let Self { page_css, entry_css, script, icon, icon_192, icon_512, manifest, inline_icon: _ } = self;
        [page_css, entry_css, script, icon, icon_192, icon_512, manifest]
    }
}

impl Asset {
    fn new(name: &str, kind: &'static str, content: &[u8]) -> Self {
        let hash: String = Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect();
        let (stem, end) = name.rsplit_once('.').unwrap_or((name, ""));
        let path = format!("/assets/{stem}-{}.{end}", &hash[..HASH_CHARS]);
        let bytes = Bytes::copy_from_slice(content);
        Self { path, kind, bytes, brotli: OnceLock::new(), gzip: OnceLock::new() }
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Its bytes as a client takes them, and what they are encoded in.
    fn encoded(&self, accepted: &str) -> (Bytes, Option<&'static str>) {
        let accepts =
            |name: &str| accepted.split(',').any(|coding| coding.split(';').next().unwrap_or("").trim() == name);
        if self.kind == PNG {
            (self.bytes.clone(), None)
        } else if accepts("br") {
            (self.brotli.get_or_init(|| brotli(&self.bytes)).clone(), Some("br"))
        } else if accepts("gzip") {
            (self.gzip.get_or_init(|| gzip(&self.bytes)).clone(), Some("gzip"))
        } else {
            (self.bytes.clone(), None)
        }
    }
}

/// Answers with an asset of this name, which never changes.
pub(super) async fn get(Path(name): Path<String>, headers: HeaderMap) -> Response {
    let asset = ASSETS.all().into_iter().find(|asset| asset.path.strip_prefix("/assets/") == Some(&name));
    let Some(asset) = asset else { return StatusCode::NOT_FOUND.into_response() };
    let accepted = headers.get(header::ACCEPT_ENCODING).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let (bytes, encoding) = asset.encoded(accepted);
    let fixed: [(HeaderName, &str); 3] =
        [(header::CONTENT_TYPE, asset.kind), (header::CACHE_CONTROL, CACHE), (header::VARY, "accept-encoding")];
    let mut response = (fixed, bytes).into_response();
    if let Some(encoding) = encoding {
        response.headers_mut().insert(header::CONTENT_ENCODING, HeaderValue::from_static(encoding));
    }
    response
}

/// For programs that look where browsers did once. Pages name their icon themselves.
pub(super) async fn favicon() -> Response {
    let icon = &ASSETS.icon_192;
    let fixed: [(HeaderName, &str); 2] =
        [(header::CONTENT_TYPE, icon.kind), (header::CACHE_CONTROL, super::ASSET_CACHE)];
    (fixed, icon.bytes.clone()).into_response()
}

/// Modules as one: without imports, which are all there, with nothing exported, and without the comments that have lines of
/// their own, which are a third of it.
fn joined(modules: &[(&str, &str)]) -> String {
    let mut whole = String::new();
    let mut is_comment = false;
    for line in modules.iter().flat_map(|(_, source)| source.lines()) {
        let text = line.trim_start();
        is_comment |= text.starts_with("/**");
        if !is_comment && !text.is_empty() && !text.starts_with("//") && !line.starts_with("import ") {
            whole.push_str(line.strip_prefix("export ").unwrap_or(line));
            whole.push('\n');
        }
        is_comment &= !text.ends_with("*/");
    }
    whole
}

fn brotli(bytes: &[u8]) -> Bytes {
    let params = brotli::enc::BrotliEncoderParams {
        quality: BROTLI_QUALITY,
        lgwin: BROTLI_WINDOW,
        size_hint: bytes.len(),
        ..Default::default()
    };
    let mut packed = Vec::new();
    // Memory to memory: there is nothing to fail.
    let done = brotli::BrotliCompress(&mut Cursor::new(bytes), &mut packed, &params);
    done.map_or_else(|_| Bytes::new(), |_| packed.into())
}

fn gzip(bytes: &[u8]) -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    let done = encoder.write_all(bytes).and_then(|()| encoder.finish());
    done.map_or_else(|_| Bytes::new(), Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    #[test]
    fn u1_modules_can_be_joined() {
        let mut names = HashMap::new();
        for (at, (module, source)) in MODULES.iter().enumerate() {
            for line in source.lines().filter(|line| line.starts_with("import ")) {
                let from = line.split('"').nth(1).and_then(|path| path.strip_prefix("./")?.strip_suffix(".js"));
                let known = MODULES[..at].iter().any(|(name, _)| Some(*name) == from);
                assert!(known, "{module}: {line}");
            }
            let comments = source.lines().filter(|line| line.trim_start().starts_with("/**"));
            for line in comments.filter(|line| line.contains("*/")) {
                assert!(line.ends_with("*/"), "{module}: what follows a comment in its line is lost: {line}");
            }
            for line in source.lines().map(|line| line.strip_prefix("export ").unwrap_or(line)) {
                let line = line.strip_prefix("async ").unwrap_or(line);
                let declared =
                    ["function ", "const ", "let ", "class "].iter().find_map(|word| line.strip_prefix(word));
                let name =
                    declared.and_then(|rest| rest.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$').next());
                if let Some(name) = name.filter(|name| !name.is_empty()) {
                    assert_eq!(names.insert(name, module), None, "{name} is in two modules");
                }
            }
        }
        let whole = joined(&MODULES);
        assert!(!whole.contains("\nimport ") && !whole.contains("\nexport "));
        assert_eq!(
            joined(&[(
                "a",
                "// Why.\nimport { b } from \"./b.js\";\n\n/** One. */\nexport const a = 1; // here\n/**\n * @type {x}\n */\nlet c;\n"
            )]),
            "const a = 1; // here\nlet c;\n"
        );
    }

    #[test]
    fn u1_assets_are_small() {
        for (asset, bytes_max) in
            [(&ASSETS.script, 19 * 1024), (&ASSETS.page_css, 10 * 1024), (&ASSETS.entry_css, 2 * 1024)]
        {
            for accepted in ["br", "gzip"] {
                let bytes = asset.encoded(accepted).0.len();
                assert!((100..bytes_max).contains(&bytes), "{}: {bytes} bytes as {accepted}", asset.path);
            }
        }
    }

    #[test]
    fn u1_assets_are_sent_as_asked_for() {
        let css = &ASSETS.page_css;
        for (accepted, expect) in
            [("gzip, deflate, br;q=1", Some("br")), ("gzip", Some("gzip")), ("", None), ("brx", None)]
        {
            assert_eq!(css.encoded(accepted).1, expect, "{accepted}");
        }
        assert_eq!(ASSETS.icon_192.encoded("br").1, None);
    }
}
