//! What a browser makes of sanitised HTML, judged by html5ever's tokenizer and lists of its own: nothing here knows the
//! sanitiser's.
//!
//! The tokenizer alone sees what a browser sees as long as no element switches its state, as `<script>` and `<textarea>`
//! do, and no `<![CDATA[` stands in a formula. None of those is in [`ELEMENTS`], and every `<!` is a fault. What tree a
//! browser builds of the tags is judged in [`nesting`](crate::nesting).

use std::cell::RefCell;

use html5ever::{
    buffer_queue::BufferQueue,
    tendril::StrTendril,
    tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts},
};

/// Elements that a reader may be shown.
const ELEMENTS: &str = "a abbr acronym address article aside audio b bdi bdo big blockquote br caption center cite \
    code col colgroup dd del details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 header hr i img \
    ins kbd li main mark nav ol p picture pre q rp rt ruby s samp section small source span strike strong sub summary \
    sup table tbody td tfoot th thead time tr track tt u ul var video wbr \
    maction math merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt \
    mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none semantics";

/// Of these, those without an end.
const VOID: &str = "br col hr img source track wbr";

/// Attributes that do nothing but describe.
const ATTRIBUTES: &str = "abbr align alt border cite class color colspan controls datetime dir face height href \
    hreflang kind label lang loop media muted open poster preload reversed rowspan scope size sizes span src srclang \
    srcset start summary title type valign value width hidden id data-player \
    accent accentunder alttext columnalign columnlines columnspan depth display displaystyle fence form frame largeop \
    linethickness lspace mathcolor mathvariant maxsize minsize movablelimits rowlines rspace scriptlevel separator \
    stretchy symmetric";

/// Attributes with a URL in them.
const URL_ATTRIBUTES: &str = "cite data-player href poster src";

/// Schemes that lead somewhere and run nothing.
const SCHEMES: &str = "http https mailto tel sms ftp ftps gemini geo irc ircs magnet xmpp matrix";

/// Pictures that may stand in the text itself.
const EMBEDDED: [&str; 6] =
    ["data:image/png", "data:image/jpeg", "data:image/jpg", "data:image/gif", "data:image/webp", "data:image/avif"];

/// What is wrong with sanitised HTML; nothing if all is well.
pub(crate) fn faults(html: &str) -> Vec<String> {
    let tokenizer = Tokenizer::new(Judge::default(), TokenizerOpts::default());
    let input = BufferQueue::default();
    input.push_back(StrTendril::from(html));
    let _ = tokenizer.feed(&input);
    tokenizer.end();
    let Judge { faults, open } = tokenizer.sink;
    let mut faults = faults.into_inner();
    faults.extend(open.into_inner().iter().map(|name| format!("<{name}> is never closed")));
    faults
}

#[derive(Default)]
struct Judge {
    faults: RefCell<Vec<String>>,
    open: RefCell<Vec<String>>,
}

impl TokenSink for Judge {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => self.tag(&tag),
            Token::DoctypeToken(doctype) => self.fault(format!("a doctype: {doctype:?}")),
            Token::CommentToken(comment) => self.fault(format!("a comment: {comment}")),
            Token::NullCharacterToken => self.fault("a null character".to_owned()),
            Token::ParseError(error) if error.starts_with("Bad character") => {}
            Token::ParseError(error) => self.fault(format!("not well-formed: {error}")),
            Token::CharacterTokens(_) | Token::EOFToken => {}
        }
        TokenSinkResult::Continue
    }
}

impl Judge {
    fn fault(&self, fault: String) {
        self.faults.borrow_mut().push(fault);
    }

    fn tag(&self, tag: &Tag) {
        let name = &*tag.name;
        if !among(ELEMENTS, name) {
            self.fault(format!("the element <{name}>"));
        }
        let is_void = among(VOID, name);
        match tag.kind {
            TagKind::StartTag if !is_void => self.open.borrow_mut().push(name.to_owned()),
            TagKind::StartTag => {}
            TagKind::EndTag if self.open.borrow_mut().pop().as_deref() == Some(name) => {}
            TagKind::EndTag => self.fault(format!("</{name}> out of order")),
        }
        for attribute in &tag.attrs {
            self.attribute(name, &attribute.name.local, &attribute.value);
        }
        if tag.had_duplicate_attributes {
            self.fault(format!("an attribute twice in <{name}>"));
        }
    }

    fn attribute(&self, element: &str, name: &str, value: &str) {
        if name.starts_with("on") || name == "style" || !among(ATTRIBUTES, name) {
            self.fault(format!("the attribute {name} of <{element}>"));
        }
        if name == "class" && !value.split_ascii_whitespace().all(|class| class.starts_with("language-")) {
            self.fault(format!("the class {value:?} of <{element}>"));
        }
        let is_own = |id: &str| id.starts_with('e') && id.as_bytes().get(17) == Some(&b'-');
        if name == "id" && !is_own(value)
            || name == "href" && value.strip_prefix('#').is_some_and(|id| !id.is_empty() && !is_own(id))
        {
            self.fault(format!("{name}={value:?} of <{element}> may be another's"));
        }
        if name == "data-player" && element != "a" {
            self.fault(format!("a mark on <{element}>"));
        }
        let urls = match name {
            "srcset" => source_set(value),
            _ if among(URL_ATTRIBUTES, name) => vec![value.to_owned()],
            _ => Vec::new(),
        };
        for url in urls.iter().filter(|url| !is_passive(element, url)) {
            self.fault(format!("the URL {url:?} of <{element} {name}>"));
        }
    }
}

fn among(words: &str, word: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// Whether following or loading a URL runs nothing.
fn is_passive(element: &str, url: &str) -> bool {
    let url = stripped(url);
    match scheme(&url) {
        None => true,
        Some(scheme) if among(SCHEMES, &scheme) => true,
        Some(scheme) if scheme == "data" && element != "a" => {
            let lower = url.to_ascii_lowercase();
            EMBEDDED.iter().any(|kind| lower.strip_prefix(kind).is_some_and(|rest| rest.starts_with([';', ','])))
        }
        Some(_) => false,
    }
}

/// Whether following a URL runs what it holds.
pub(crate) fn is_script(url: &str) -> bool {
    scheme(&stripped(url)).is_some_and(|scheme| among("javascript vbscript data", &scheme))
}

/// What the URL standard removes before it reads a URL: control characters and spaces around it, tabs and line ends.
fn stripped(url: &str) -> String {
    url.trim_matches(|c: char| c <= ' ').chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect()
}

/// The scheme by the URL standard: a letter, then letters, digits, `+`, `-` and `.`, then a colon.
fn scheme(url: &str) -> Option<String> {
    let (scheme, _) = url.split_once(':')?;
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

/// The URLs of a `srcset` as HTML splits it.
fn source_set(value: &str) -> Vec<String> {
    let mut urls = Vec::new();
    let mut rest = value;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == ',');
        if rest.is_empty() {
            return urls;
        }
        let end = rest.find(|c: char| c.is_ascii_whitespace()).unwrap_or(rest.len());
        let (url, after) = rest.split_at(end);
        urls.push(url.trim_end_matches(',').to_owned());
        rest = if url.ends_with(',') { after } else { after.split_once(',').map_or("", |(_, next)| next) };
    }
}

/// The judge itself: it has to see what it is there for.
#[test]
fn f3_judge_detects_active_content() {
    for html in [
        "<script>x</script>",
        "<p onclick=\"x\">x</p>",
        "<p style=\"x\">x</p>",
        "<a href=\"java&#10;script:x\">x</a>",
        "<a href=\"\u{1}JavaScript:x\">x</a>",
        "<a href=\"data:image/png,x\">x</a>",
        "<img src=\"data:image/svg+xml,x\">",
        "<img srcset=\"a.png 1x, javascript:x 2x\">",
        "<img src=\"a\" src=\"b\">",
        "<!-- x -->",
        "<p>never closed",
        "<b><i></b></i>",
        "<p x",
        "<svg></svg>",
        "<iframe></iframe>",
        "<p class=\"language-rust page\">x</p>",
        "<p id=\"x\">x</p>",
        "<a href=\"#x\">x</a>",
        "<p data-player=\"https://e.org/\">x</p>",
    ] {
        assert!(!faults(html).is_empty(), "{html}");
    }
    let fine = "<p class=\"language-c\">a &lt; b <a href=\"https://e.org/?a=1&amp;b=2\">c</a><img src=\"data:image/png;base64,x\"></p>";
    assert_eq!(faults(fine), Vec::<String>::new());
}
