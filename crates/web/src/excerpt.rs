//! The beginning of an entry as plain text, for lists.

/// Characters of an excerpt.
pub(crate) const EXCERPT_CHARS_MAX: usize = 280;
/// Bytes of HTML that are looked at for one: tags and addresses take most of it at times.
const HTML_BYTES_MAX: usize = 16 * 1024;

/// Elements that stand within words rather than between them.
const INLINE: [&str; 33] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd",
    "mark", "q", "rb", "ruby", "s", "samp", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u",
    "var", "wbr",
];

/// The first words of sanitised HTML; `None` if there are none.
pub(crate) fn excerpt(html: &str) -> Option<String> {
    let text = htmlize::unescape(without_tags(beginning(html)));
    let mut excerpt = String::new();
    let mut chars = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if chars + length > EXCERPT_CHARS_MAX {
            excerpt.extend(word.chars().take(EXCERPT_CHARS_MAX.saturating_sub(chars)));
            excerpt.push('…');
            break;
        }
        excerpt.push_str(word);
        excerpt.push(' ');
        chars += length + 1;
    }
    let excerpt = excerpt.trim_end();
    (!excerpt.is_empty()).then(|| excerpt.to_owned())
}

fn beginning(html: &str) -> &str {
    &html[..html.floor_char_boundary(HTML_BYTES_MAX)]
}

/// What stands outside tags. Sanitised HTML has `<` and `>` at the ends of its tags and nowhere else.
fn without_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len());
    for piece in html.split('<') {
        match piece.split_once('>') {
            Some((tag, after)) => {
                if !is_inline(tag) {
                    text.push(' ');
                }
                text.push_str(after);
            }
            // The text before the first tag; a tag that was cut off has no end.
            None if text.is_empty() && !html.starts_with('<') => text.push_str(piece),
            None => {}
        }
    }
    text
}

fn is_inline(tag: &str) -> bool {
    let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
    INLINE.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u1_excerpts_are_the_first_words_without_tags() {
        for (html, expect) in [
            ("", None),
            ("<p> </p>", None),
            ("<img src=\"http://e.org/&gt;\" alt=\"x\">", None),
            ("plain &amp; &lt;simple&gt;", Some("plain & <simple>")),
            ("<h2>One</h2><p>t<b>w</b>o\n three<br>four</p>", Some("One two three four")),
            ("before <p>in</p> after", Some("before in after")),
            ("<cite>Patience</cite>, H<sub>2</sub>O, <del>no</del>", Some("Patience, H2O, no")),
            ("<p>end</p><img src=\"http://e.org/cut", Some("end")),
        ] {
            assert_eq!(excerpt(html).as_deref(), expect, "{html}");
        }
        let long = excerpt(&"word ".repeat(1000)).unwrap();
        assert!(long.chars().count() <= EXCERPT_CHARS_MAX + 1 && long.ends_with('…'), "{long}");
        let one_word = excerpt(&"é".repeat(100_000)).unwrap();
        assert_eq!(one_word.chars().count(), EXCERPT_CHARS_MAX + 1);
    }
}
