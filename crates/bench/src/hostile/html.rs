//! HTML against the sanitiser, as the content of a feed's entries: four texts of nearly the longest that are kept.

use super::{CHANNEL_CLOSE, CHANNEL_OPEN, Case, join};

pub(super) const CASES: [Case; 30] = [
    Case { name: "html-a-in-a.xml", make: || html("", "<a>") },
    Case { name: "html-a-and-b.xml", make: || html("", "<a><b>") },
    Case { name: "html-p-below-128.xml", make: || html(&"<b>".repeat(128), "<p>") },
    Case { name: "html-tbody-below-127.xml", make: || html(&"<b>".repeat(127), "<tbody>") },
    Case { name: "html-end-tags-below-128.xml", make: || html(&"<b>".repeat(128), "</i>") },
    Case { name: "html-svg-p.xml", make: || html("", "<svg><p>") },
    Case { name: "html-svg-in-svg.xml", make: || html("", "<svg>") },
    Case { name: "html-unknown-tags.xml", make: || html("", "<x>") },
    Case { name: "html-amps.xml", make: || html("<p>", "&") },
    Case { name: "html-amps-escaped.xml", make: || html("<p>", "&amp;") },
    Case { name: "html-quotes.xml", make: || html("<p>", "\"") },
    Case { name: "html-lt.xml", make: || html("<p>", "<") },
    Case { name: "html-gt.xml", make: || html("<p>", ">") },
    Case { name: "html-controls.xml", make: || html("<p>", "\u{1}x") },
    Case { name: "html-references-cut.xml", make: || html("<p>", "&#") },
    Case { name: "html-references-long.xml", make: || html("<p>&#", "1") },
    Case { name: "html-references-nameless.xml", make: || html("<p>", "&notit") },
    Case { name: "html-attributes-1M.xml", make: || closed("<img ", "a=b ", ">") },
    Case { name: "html-attributes-alt.xml", make: || closed("<img ", "alt ", ">") },
    Case { name: "html-attributes-quotes.xml", make: || closed("<img ", "a=\"b' ", ">") },
    Case { name: "html-quotes-unclosed.xml", make: || html("", "<a b=\"c ") },
    Case { name: "html-srcset.xml", make: || closed("<img srcset='", "a, ", "'>") },
    Case { name: "html-srcset-many.xml", make: || html("", "<img srcset=a>") },
    Case { name: "html-links-relative.xml", make: || html("", "<a href=b>") },
    Case { name: "html-frames.xml", make: || html("", "<iframe src=b></iframe>") },
    Case { name: "html-videos.xml", make: || html("", "<p><video>") },
    Case { name: "html-raw-text.xml", make: || html("<xmp>", "</x") },
    Case { name: "html-raw-elements.xml", make: || html("", "<xmp></xmp>") },
    Case { name: "html-lists.xml", make: || html("", "<ul><li>") },
    Case { name: "html-comments.xml", make: || html("<p>", "<!-->") },
];

/// Bytes of each text: a little less than is kept of one.
const BODY_BYTES: usize = (4 << 20) - 8192;

/// Texts that begin with `head`, repeat `piece` and then just end.
fn html(head: &str, piece: &str) -> Vec<u8> {
    closed(head, piece, "")
}

/// Four entries with the same text.
fn closed(head: &str, piece: &str, tail: &str) -> Vec<u8> {
    let body = format!("<p>x</p>{head}{}{tail}", piece.repeat((BODY_BYTES - head.len()) / piece.len()));
    let item = |guid| format!("<item><guid>{guid}</guid><description><![CDATA[{body}]]></description></item>");
    join(&[CHANNEL_OPEN, &(0..4).map(item).collect::<String>(), CHANNEL_CLOSE])
}
