//! What is known to bring feed readers down: nesting, entities, sizes, numbers.

use super::{CHANNEL_CLOSE, CHANNEL_OPEN, Case, RSS_CLOSE, RSS_OPEN, join};

pub(super) const CASES: [Case; 17] = [
    Case { name: "nest-in-desc-100k.xml", make: nest_in_description },
    Case { name: "nest-in-channel-100k.xml", make: nest_in_channel },
    Case { name: "nest-atom-xhtml-100k.xml", make: nest_in_xhtml },
    Case { name: "nest-html-cdata-100k.xml", make: nest_in_cdata },
    Case { name: "nest-unclosed-1M.xml", make: || join(&[RSS_OPEN, &"<b>".repeat(1_000_000)]) },
    Case { name: "billion-laughs.xml", make: billion_laughs },
    Case { name: "quadratic-blowup.xml", make: quadratic_blowup },
    Case { name: "xxe.xml", make: || with_doctype("<!ENTITY x SYSTEM \"file:///etc/hostname\">", "[&x;]") },
    Case { name: "text-100MB.xml", make: || join(&[RSS_OPEN, &"x".repeat(100_000_000), RSS_CLOSE]) },
    Case { name: "cdata-100MB.xml", make: cdata },
    Case { name: "attrs-1M-one-element.xml", make: attributes },
    Case { name: "xmlns-100k-one-element.xml", make: namespaces },
    Case { name: "items-1M.xml", make: items },
    Case { name: "amps-10M.xml", make: || join(&[RSS_OPEN, &"&amp;".repeat(5_000_000), RSS_CLOSE]) },
    Case { name: "lt-1M-unclosed.xml", make: || join(&[RSS_OPEN, &"<".repeat(1_000_000), RSS_CLOSE]) },
    Case { name: "comment-unclosed-50MB.xml", make: || join(&[RSS_OPEN, "<!-- ", &"x".repeat(50_000_000)]) },
    Case { name: "cdata-openers-1M.xml", make: || join(&[RSS_OPEN, &"<![CDATA[".repeat(1_000_000), RSS_CLOSE]) },
];

const DEPTH: usize = 100_000;

fn nest_in_description() -> Vec<u8> {
    join(&[RSS_OPEN, &"<b>".repeat(DEPTH), "x", &"</b>".repeat(DEPTH), RSS_CLOSE])
}

fn nest_in_channel() -> Vec<u8> {
    let item = "<item><guid>1</guid></item>";
    join(&[CHANNEL_OPEN, &"<a>".repeat(DEPTH), &"</a>".repeat(DEPTH), item, CHANNEL_CLOSE])
}

fn nest_in_xhtml() -> Vec<u8> {
    let open = "<feed xmlns=\"http://www.w3.org/2005/Atom\"><title>t</title><id>1</id><entry><id>1</id>\
                <content type=\"xhtml\"><div xmlns=\"http://www.w3.org/1999/xhtml\">";
    let close = "</div></content></entry></feed>";
    join(&[open, &"<div>".repeat(DEPTH), "x", &"</div>".repeat(DEPTH), close])
}

fn nest_in_cdata() -> Vec<u8> {
    join(&[RSS_OPEN, "<![CDATA[", &"<div>".repeat(DEPTH), "x", &"</div>".repeat(DEPTH), "]]>", RSS_CLOSE])
}

fn with_doctype(declarations: &str, text: &str) -> Vec<u8> {
    let (declaration, rest) = RSS_OPEN.split_at("<?xml version=\"1.0\"?>".len());
    join(&[declaration, "<!DOCTYPE rss [", declarations, "]>", rest, text, RSS_CLOSE])
}

fn billion_laughs() -> Vec<u8> {
    let more: String = (1..10).map(|n| format!("<!ENTITY a{n} \"{}\">", format!("&a{};", n - 1).repeat(10))).collect();
    with_doctype(&format!("<!ENTITY a0 \"lol\">{more}"), "&a9;")
}

fn quadratic_blowup() -> Vec<u8> {
    with_doctype(&format!("<!ENTITY a \"{}\">", "x".repeat(50_000)), &"&a;".repeat(50_000))
}

fn cdata() -> Vec<u8> {
    join(&[RSS_OPEN, "<![CDATA[", &"<p>xxxxxxxx</p>".repeat(6_666_700), "]]>", RSS_CLOSE])
}

fn attributes() -> Vec<u8> {
    let attributes: String = (0..1_000_000).map(|n| format!("a{n}=\"v\" ")).collect();
    join(&[CHANNEL_OPEN, "<item ", &attributes, "><guid>1</guid></item>", CHANNEL_CLOSE])
}

fn namespaces() -> Vec<u8> {
    let namespaces: String = (0..100_000).map(|n| format!("xmlns:n{n}=\"http://e/{n}\" ")).collect();
    let items = "<item><guid>1</guid><title>x</title></item>".repeat(2000);
    let open = "<?xml version=\"1.0\"?><rss version=\"2.0\" ";
    join(&[open, &namespaces, "><channel><title>t</title>", &items, CHANNEL_CLOSE])
}

fn items() -> Vec<u8> {
    let items: String = (0..1_000_000)
        .map(|n| format!("<item><guid>{n}</guid><title>x</title><link>http://e/{n}</link></item>"))
        .collect();
    join(&[CHANNEL_OPEN, &items, CHANNEL_CLOSE])
}
