//! HTML bodies as weblog software writes them: well-formed, with links, pictures in several sizes, lists, quotations,
//! code, a frame now and then, and at the end sometimes a pixel that counts its readers.

use super::{
    escape,
    random::Random,
    words::{Language, phrase, sentences},
};

/// Writes a body of about so many bytes.
pub(super) fn body(language: &Language, random: &mut Random, size_bytes: usize, xhtml: bool) -> String {
    let mut writer = Writer { out: String::with_capacity(size_bytes + 1024), language, random, xhtml };
    while writer.out.len() < size_bytes {
        writer.block();
    }
    if writer.random.one_in(4) {
        writer.put("<img src=\"https://count.example.net/p.gif?id=81\" width=\"1\" height=\"1\" alt=\"\" />");
    }
    writer.out
}

struct Writer<'a> {
    out: String,
    language: &'a Language,
    random: &'a mut Random,
    /// Only references that XML knows.
    xhtml: bool,
}

impl Writer<'_> {
    fn put(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn block(&mut self) {
        match self.random.below(24) {
            0 => self.heading(),
            1 => self.list(),
            2 => self.quotation(),
            3 | 4 => self.picture(),
            5 => self.code(),
            6 if !self.xhtml => self.frame(),
            7 => self.table(),
            _ => self.paragraph(),
        }
        self.put("\n");
    }

    fn paragraph(&mut self) {
        let open = if self.random.one_in(8) { "<p class=\"wp-block-paragraph\">" } else { "<p>" };
        self.put(open);
        for _ in 0..self.random.between(1, 4) {
            self.run();
        }
        self.put("</p>");
    }

    /// Text with some markup in it.
    fn run(&mut self) {
        let text = sentences(self.language, self.random);
        self.put(&escape(&text));
        match self.random.below(10) {
            0..=2 => self.link(),
            3 => self.element("em"),
            4 => self.element("strong"),
            5 => self.element("code"),
            6 => self.reference(),
            7 if self.random.one_in(3) => self.put("<br />"),
            _ => {}
        }
    }

    fn words(&mut self, low: usize, high: usize) -> String {
        let count = self.random.between(low, high);
        phrase(self.language, self.random, count)
    }

    fn element(&mut self, name: &str) {
        let words = self.words(1, 4);
        self.put(&format!("<{name}>{words}</{name}> "));
    }

    fn reference(&mut self) {
        let reference = if self.xhtml {
            self.random.pick(&["&#8217;", "&#8230;", "&#160;", "&amp;", "&#x2014;"])
        } else {
            self.random.pick(&["&#8217;", "&hellip;", "&nbsp;", "&amp;", "&#8220;", "&mdash;"])
        };
        self.put(reference);
        self.put(" ");
    }

    fn link(&mut self) {
        let words = self.words(1, 4);
        let number = self.random.below(10_000);
        let link = match self.random.below(4) {
            0 => format!("<a href=\"/blog/archive/{number}\">{words}</a> "),
            1 => format!(
                "<a href=\"https://www.example.com/articles/{number}?utm_source=feed&amp;utm_medium=rss\" \
                 target=\"_blank\" rel=\"noopener nofollow\">{words}</a> "
            ),
            _ => format!("<a href=\"https://news.example.net/2024/{number}.html\">{words}</a> "),
        };
        self.put(&link);
    }

    fn heading(&mut self) {
        let words = self.words(2, 6);
        let level = self.random.between(2, 4);
        self.put(&format!("<h{level} id=\"h-{level}\">{words}</h{level}>"));
    }

    fn list(&mut self) {
        let name = self.random.pick(&["ul", "ol"]);
        self.put(&format!("<{name}>\n"));
        for _ in 0..self.random.between(2, 7) {
            self.put("<li>");
            self.run();
            self.put("</li>\n");
        }
        self.put(&format!("</{name}>"));
    }

    fn quotation(&mut self) {
        self.put("<blockquote>\n");
        self.paragraph();
        self.put("\n</blockquote>");
    }

    fn picture(&mut self) {
        let caption = self.words(3, 8);
        let number = self.random.below(10_000);
        let base = format!("https://example.org/wp-content/uploads/2024/05/picture-{number}");
        self.put(&format!(
            "<figure class=\"wp-block-image size-large\"><img loading=\"lazy\" decoding=\"async\" width=\"1024\" \
             height=\"683\" src=\"{base}-1024x683.jpg\" alt=\"{caption}\" class=\"wp-image-{number}\" \
             srcset=\"{base}-1024x683.jpg 1024w, {base}-300x200.jpg 300w, {base}-768x512.jpg 768w\" \
             sizes=\"(max-width: 1024px) 100vw, 1024px\" /><figcaption>{caption}</figcaption></figure>"
        ));
    }

    fn code(&mut self) {
        self.put("<pre class=\"language-rust\"><code>");
        for line in 0..self.random.between(2, 12) {
            self.put(&format!("    let value_{line}: Vec&lt;u8&gt; = read(&amp;mut input, {line})?;\n"));
        }
        self.put("</code></pre>");
    }

    fn frame(&mut self) {
        let number = self.random.below(10_000);
        self.put(&format!(
            "<iframe width=\"560\" height=\"315\" src=\"https://videos.example.com/embed/{number}\" frameborder=\"0\" \
             allow=\"encrypted-media\" allowfullscreen=\"allowfullscreen\"></iframe>"
        ));
    }

    fn table(&mut self) {
        self.put("<table style=\"width:100%\"><tbody>");
        for _ in 0..self.random.between(2, 5) {
            let (left, right) = (self.words(1, 3), self.words(1, 5));
            self.put(&format!("<tr><td align=\"left\">{left}</td><td>{right}</td></tr>\n"));
        }
        self.put("</tbody></table>");
    }
}
