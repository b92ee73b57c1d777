//! By what an entry is known again, and whether it has changed: both judged on the text as received, before it is
//! sanitised, so that a better sanitiser never makes old entries look new.

use sha2::{Digest, Sha256};

use crate::model::{Entry, Text};

/// The identity of an entry within its feed: its guid, else its link, else a hash of its title and content.
pub(crate) fn of(entry: &Entry) -> String {
    let stated = [entry.guid.as_deref(), entry.link.as_deref()];
    if let Some(stated) = stated.into_iter().flatten().find(|value| !value.trim().is_empty()) {
        return stated.to_owned();
    }
    let mut hash = Fingerprint::default();
    hash.text(entry.title.as_ref());
    hash.body(entry);
    if entry.title.is_none() && entry.content.is_empty() && entry.summary.is_none() {
        // A picture or a file with no word to it.
        hash.attachments(entry);
    }
    format!("sha256:{}", hash.hex())
}

/// A hash of all that a reader sees of an entry. Another hash means that the entry has changed.
pub fn fingerprint(entry: &Entry) -> [u8; 32] {
    let mut hash = Fingerprint::default();
    hash.text(entry.title.as_ref());
    hash.part(entry.link.as_deref().unwrap_or_default());
    hash.body(entry);
    hash.attachments(entry);
    hash.0.finalize().into()
}

#[derive(Default)]
struct Fingerprint(Sha256);

impl Fingerprint {
    /// Each part with its length, so that "ab" + "c" and "a" + "bc" differ.
    fn part(&mut self, part: &str) {
        self.0.update((part.len() as u64).to_le_bytes());
        self.0.update(part);
    }

    fn text(&mut self, text: Option<&Text>) {
        self.part(text.map_or("", |text| text.value.as_str()));
    }

    fn body(&mut self, entry: &Entry) {
        self.text(entry.summary.as_ref());
        for content in &entry.content {
            self.part(&content.value);
        }
    }

    fn attachments(&mut self, entry: &Entry) {
        for enclosure in &entry.enclosures {
            self.part(&enclosure.href);
        }
        for media in &entry.media_content {
            self.part(&media.url);
        }
    }

    fn hex(self) -> String {
        self.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
