//! What comes out of what goes in.

use super::*;
use crate::limits::HTML_DEPTH_MAX;

fn check(html: &str, expect: &str) {
    let base = Url::parse("http://e.org/a/").ok();
    let once = sanitise(html, base.as_ref());
    assert_eq!(once, expect, "{html}");
    assert_eq!(sanitise(&once, base.as_ref()), once, "twice: {html}");
}

#[test]
fn f3_active_content_removed() {
    check("a<script>alert(1)</script>b", "ab");
    check("<p onclick=alert(1) style='x:y'>x</p>", "<p>x</p>");
    check("<a href='javascript:x'>x</a>", "<a>x</a>");
    check("<a href=' jav&#x09;ascript:x'>x</a>", "<a>x</a>");
    check("<style>p{}</style><form><input>x</form>", "x");
    check("<svg><script>x</script><text>y</text></svg>z", "z");
    check("<svg><text>y<p>z", "<p>z</p>");
    check("<object data=x><p>y</object>", "<p>y</p>");
    check("<img src=data:image/svg+xml,x>", "");
    check("<b <script>alert(1)</script>", "<b>alert(1)</b>");
}

#[test]
fn f3_frames_become_links_pixels_removed() {
    check("<iframe src='https://v.org/1'>x</iframe>", "<a href=\"https://v.org/1\">https://v.org/1</a>");
    check("<iframe src='https://v.org/1?utm_source=x'></iframe>", "<a href=\"https://v.org/1\">https://v.org/1</a>");
    check(
        "<iframe src='https://v.org/1'></iframe>\u{1}<iframe src='https://v.org/1'></iframe>",
        "<a href=\"https://v.org/1\">https://v.org/1</a>",
    );
    check("<img src=x width=1 height=1>", "");
    check("<img src=x width='1px' height=0>", "");
    check("<img src=x width=1 height=20>", "<img src=\"http://e.org/a/x\" width=\"1\" height=\"20\">");
}

#[test]
fn f3_media_and_links_kept_and_absolute() {
    check("<video src=v.mp4 autoplay>", "<video src=\"http://e.org/a/v.mp4\" controls=\"\"></video>");
    check("<a href='../b?x=1&amp;y=2'>b</a>", "<a href=\"http://e.org/b?x=1&amp;y=2\">b</a>");
    check("<img data-src=/i.png src=''>", "<img src=\"http://e.org/i.png\">");
    check("<img srcset='a.png 1x, /b.png 2x'>", "<img srcset=\"http://e.org/a/a.png 1x, http://e.org/b.png 2x\">");
    check("<a href=mailto:x@e.org>x", "<a href=\"mailto:x@e.org\">x</a>");
}

#[test]
fn f3_tags_balanced_and_text_escaped() {
    check("<p>a<p>b", "<p>a</p><p>b</p>");
    check("<ul><li>a<li>b<ul><li>c</ul></ul>", "<ul><li>a</li><li>b<ul><li>c</li></ul></li></ul>");
    check("<b>a<i>b</b>c</i>", "<b>a<i>b</i></b>c");
    check("1 < 2 &amp; \"3\" &nbsp;", "1 &lt; 2 &amp; &quot;3&quot; \u{a0}");
    check("<p title='a\"b<c>'>x", "<p title=\"a&quot;b&lt;c&gt;\">x</p>");
    check("<table><tr><td>a<td>b<tr><td>c</table>", "<table><tr><td>a</td><td>b</td></tr><tr><td>c</td></tr></table>");
    check("<tbody><caption><tbody>x", "x");
    check("</p></div>x\u{1}\0", "x");
}

#[test]
fn depth_is_bounded() {
    let deep = sanitise(&"<div>".repeat(100_000), None);
    assert_eq!(deep.matches("<div>").count(), HTML_DEPTH_MAX);
    let fonts: String = (0..1000).map(|n| format!("<font size={n}>")).collect();
    let wide = sanitise(&format!("<p>{fonts}{}", "<p>x".repeat(4000)), None);
    assert!(wide.len() < 200_000, "{}", wide.len());
}

#[test]
fn f3_plain_text_is_what_readers_see() {
    assert_eq!(plain_text("<p>A &amp; <b>B</b></p><p>C<script>x</script>"), "A & B C");
    for (html, expect) in [
        ("<h2>Heading</h2>Body", "Heading Body"),
        ("<ul><li>a</ul>b<br>c", "a b c"),
        ("<table><caption>a</caption><tr><td>b</td>c</table>d", "a b c d"),
        ("<x-card>a</x-card>b<button>c</button>d", "a b c d"),
        ("a<x-card>b", "a b"),
        ("un<b>believ</b>able <nobr>x</nobr>y z<o:p></o:p>.", "unbelievable xy z."),
        ("a<p hidden>b</p>c", "a c"),
        ("a<p hidden>b<p>c", "a c"),
        ("a<div hidden>b<div>c</div>d<p>e</div>f", "a f"),
        ("<div>a<span hidden>b<i>c</div>d", "a d"),
        ("a <span hidden=until-found>b</span>c", "a c"),
        ("<ul><li hidden>a<ul><li>b</ul><li>c</ul>", "c"),
        ("<p title=hidden>a</p><br hidden>b", "a b"),
    ] {
        assert_eq!(plain_text(html), expect, "{html}");
    }
    assert!(looks_like_html("a <b>c</b>") && looks_like_html("&eacute;") && looks_like_html("x<br>"));
    assert!(!looks_like_html("a < b & c") && !looks_like_html("<foo> AT&T;"));
    for html in ["<lite-youtube videoid=\"x\"></lite-youtube>", "<m:math><m:mi>x</m:mi></m:math>", "<x-card>y</x-card>"]
    {
        assert!(looks_like_html(html), "{html}");
    }
    for text in ["ssh <user-name>@host", "see <http://e.org/a-b>", "<mailto:a-b>", "<a-b> vs <c-d>", "a <-b> c </b"] {
        assert!(!looks_like_html(text), "{text}");
    }
    assert!(!looks_like_html("How to write <script>") && looks_like_html("<script>x</script>"));
}

/// In the scope that has no entry.
const OWN: &str = "e0000000000000000-";

fn check_own(html: &str, expect: &str) {
    check(html, &expect.replace("OWN-", OWN));
}

#[test]
fn f3_fragment_links_scoped_to_entry() {
    check_own(
        "<a href='#fn:1' id=ref>1</a><li id='fn:1'><a href='#ref'>back</a>",
        "<a href=\"#OWN-fn:1\" id=\"OWN-ref\">1</a><li id=\"OWN-fn:1\"><a href=\"#OWN-ref\">back</a></li>",
    );
    check_own("<a href='#fn%3A1'>1</a><p id='fn:1'>", "<a href=\"#OWN-fn:1\">1</a><p id=\"OWN-fn:1\"></p>");
    check_own("<a href='#a%20'>1</a><p id='a%20'>", "<a href=\"#OWN-a%20\">1</a><p id=\"OWN-a%20\"></p>");
    check_own("<a name=x></a><a href='#x'>y</a>", "<a id=\"OWN-x\"></a><a href=\"#OWN-x\">y</a>");
    check_own("<p id=x>1<p id=x>2", "<p id=\"OWN-x\">1</p><p>2</p>");
    check_own("<p id='x y'>1<p id=''>2", "<p>1</p><p>2</p>");
    // The page of the entry, as a feed with absolute links writes it.
    check_own("<a href='http://e.org/a/#x'>1</a><p id=x>", "<a href=\"#OWN-x\">1</a><p id=\"OWN-x\"></p>");
    for own in ["/a/", "/a", "../a/", "https://e.org/a", "http://e.org:80/a/", "//e.org/a/"] {
        let html = format!("<a href='{own}#x'>1</a><p id=x>");
        check_own(&html, "<a href=\"#OWN-x\">1</a><p id=\"OWN-x\"></p>");
    }
    for (other, expect) in [
        ("/b/", "http://e.org/b/"),
        ("/a/a", "http://e.org/a/a"),
        ("?b=1", "http://e.org/a/?b=1"),
        ("http://e.org:8080/a/", "http://e.org:8080/a/"),
        ("ftp://e.org/a/", "ftp://e.org/a/"),
    ] {
        let html = format!("<a href='{other}#x'>1</a><p id=x>");
        check_own(&html, &format!("<a href=\"{expect}#x\">1</a><p id=\"OWN-x\"></p>"));
    }
    // What is not in the text is on the page.
    check("<a href='/a#comments'>1</a>", "<a href=\"http://e.org/a#comments\">1</a>");
    check("<a href='#comments'>1</a>", "<a href=\"http://e.org/a/#comments\">1</a>");
    check("<a href='http://e.org/a/#x'>1</a>", "<a href=\"http://e.org/a/#x\">1</a>");
    check("<a href='http://f.org/#x'>1</a>", "<a href=\"http://f.org/#x\">1</a>");
    check("<a href='#'>1</a>", "<a href=\"http://e.org/a/#\">1</a>");
    assert_eq!(sanitise("<a href='#x'>1</a>", None), format!("<a href=\"#{OWN}x\">1</a>"));
}

#[test]
fn f3_links_within_an_entry_never_take_its_scheme() {
    for base in ["ttps://e.org/1", "javascript://e.org/%0aalert(1)", "data://e.org/x"] {
        let url = Url::parse(base).ok();
        let once = sanitise(&format!("<a href='#x'>1</a><a href='{base}#x'>2</a>"), url.as_ref());
        assert_eq!(once, format!("<a href=\"#{OWN}x\">1</a><a>2</a>"), "{base}");
        assert_eq!(sanitise(&once, url.as_ref()), once, "twice: {base}");
    }
}

#[test]
fn f3_links_to_own_page_lose_tracking() {
    let base = Url::parse("http://e.org/a?utm_source=rss&b=1").ok();
    for (html, expect) in [
        ("<a href='#x'>1</a>", "<a href=\"http://e.org/a?b=1#x\">1</a>"),
        ("<a href='http://e.org/a?utm_source=rss&amp;b=1#x'>1</a>", "<a href=\"http://e.org/a?b=1#x\">1</a>"),
        ("<a href='http://e.org/a?b=1#x'>1</a><p id=x>", "<a href=\"#OWN-x\">1</a><p id=\"OWN-x\"></p>"),
    ] {
        let once = sanitise(html, base.as_ref());
        assert_eq!(once, expect.replace("OWN-", OWN), "{html}");
        assert_eq!(sanitise(&once, base.as_ref()), once, "twice: {html}");
    }
}

#[test]
fn f3_ids_of_two_entries_differ() {
    let html = "<a href='#x'>1</a><p id=x>";
    let scope = |url, identity, variant| Scope::of(Some(url), identity, variant);
    let one = sanitise_in(html, None, scope("http://e.org/feed", "1", None));
    for other in [
        scope("http://e.org/feed", "2", None),
        scope("http://f.org/feed", "1", None),
        scope("http://e.org/feed", "1", Some("2")),
    ] {
        let other = sanitise_in(html, None, other);
        let id = |html: &str| html.split(" id=\"").nth(1).map(|rest| rest[..18].to_owned());
        assert_ne!(id(&one), id(&other));
        // Another entry's id is no id of this one.
        assert!(
            !sanitise_in(&other, None, scope("http://e.org/feed", "1", None))
                .contains(&format!("\"{}", id(&other).unwrap()))
        );
    }
}

#[test]
fn f3_only_language_classes_kept() {
    check("<p class='page header'>x", "<p>x</p>");
    check("<code class='hljs language-rust lang-x'>x</code>", "<code class=\"language-rust\">x</code>");
    check("<code class='language-c++ language-\"x'>x</code>", "<code class=\"language-c++\">x</code>");
}

#[test]
fn f3_no_entry_closes_its_container() {
    check(
        "<table><article><table></table></article></table><p>",
        "<table><tr><td><article><table></table></article></td></tr></table><p></p>",
    );
    check("<table><table><tr><td>x", "<table></table><table><tr><td>x</td></tr></table>");
    check("<td>x</td></table></article></div>y", "xy");
    check("<table>a<tr>b<td>c</table>d", "<table><tr><td>a</td></tr><tr><td>b</td><td>c</td></tr></table>d");
    check(
        "<table><tr><td>a<tbody><td>b<caption>c",
        "<table><tr><td>a</td></tr><tbody><tr><td>b</td></tr></tbody><caption>c</caption></table>",
    );
    check("<table><colgroup><col>x", "<table><colgroup><col></colgroup><tr><td>x</td></tr></table>");
    check("<h1>a<h2>b", "<h1>a</h1><h2>b</h2>");
    check("<p>a<li>b<p>c<li>d", "<p>a</p><li>b<p>c</p></li><li>d</li>");
    check("<p>a<summary>b", "<p>a</p><summary>b</summary>");
    check("<ruby>a<rp>(<rt>b<rp>)</ruby>", "<ruby>a<rp>(</rp><rt>b</rt><rp>)</rp></ruby>");
}

#[test]
fn f3_formulas_kept_without_foreign_content() {
    check(
        "<math display=block><msup><mi>x</mi><mn>2</mn></msup></math>",
        "<math display=\"block\"><msup><mi>x</mi><mn>2</mn></msup></math>",
    );
    check("<math><mi href=javascript:x onclick=x style=x mathcolor='url(x)'>x</mi></math>", "<math><mi>x</mi></math>");
    check(
        "<math><mspace width='9999em'/><mspace width=\"-0.2em\"/><mo>+</math>",
        "<math><mspace></mspace><mspace width=\"-0.2em\"></mspace><mo>+</mo></math>",
    );
    check(
        "<math><mi>x<mo>+<mrow/><mtext><b>y</b><img src=z><style>p</style></mtext>",
        "<math><mi>x</mi><mo>+</mo><mrow></mrow><mtext>y</mtext></math>",
    );
    check("<math>x<p>y", "<math><mtext>x</mtext></math><p>y</p>");
    check("<span><math><mtext><span>x</span>y</mtext></math>z</span>", "<span><math><mtext>xy</mtext></math>z</span>");
    check("<mi>x</mi><msup>y</msup>", "xy");
    check("<mml:math><mml:mi>x</mml:mi></mml:math>", "<math><mi>x</mi></math>");
    check("<math><math><mi>x</mi></math>y", "<math><mi>x</mi></math>y");
    check(
        "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
        "<math><mtext></mtext></math><table><tr><td></td></tr></table>",
    );
}

#[test]
fn f3_formulas_are_shown_once() {
    let math = "<math><msup><mi>x</mi><mn>2</mn></msup></math>";
    let annotated = "<math><semantics><msup><mi>x</mi><mn>2</mn></msup><annotation encoding='application/x-tex'>x^2</annotation></semantics></math>";
    let kept = "<math><semantics><msup><mi>x</mi><mn>2</mn></msup></semantics></math>";
    for (html, expect) in [
        (
            format!(
                "a <span class=katex><span class=katex-mathml>{annotated}</span><span class=katex-html aria-hidden=true><span>x<span>2</span></span></span></span> b"
            ),
            format!("a <span><span>{kept}</span></span> b"),
        ),
        (
            "<span class=katex-html aria-hidden=true>x<span>2</span></span>".to_owned(),
            "<span>x<span>2</span></span>".to_owned(),
        ),
        (
            format!(
                "<mjx-container class=MathJax jax=CHTML><mjx-math aria-hidden=true><mjx-utext>x</mjx-utext></mjx-math><mjx-assistive-mml>{math}</mjx-assistive-mml></mjx-container>b"
            ),
            format!("{math}b"),
        ),
        (
            format!(
                "<span class=MathJax><nobr aria-hidden=true><span>x2</span></nobr><span class=MJX_Assistive_MathML>{math}</span></span>b"
            ),
            format!("<span><span>{math}</span></span>b"),
        ),
        (
            format!(
                "<span class=MathJax data-mathml='{math}'><span>x2</span></span><script type='math/tex'>x^2</script>b"
            ),
            format!("{math}b"),
        ),
        (
            "<span class=MathJax_Preview>x^2</span><script type='math/tex'>x^2</script>b".to_owned(),
            "<span>x^2</span>b".to_owned(),
        ),
        (
            "<span class=MathJax_Preview><img src=/x.png></span>\n<script type='math/tex'>x^2</script>b".to_owned(),
            "<span><img src=\"http://e.org/x.png\"></span>\nb".to_owned(),
        ),
        (
            format!(
                "a<span class=MathJax_Preview><i>x^2</i></span><span class=MathJax data-mathml='{math}'>x2</span><script type='math/tex'>x^2</script>b"
            ),
            format!("a{math}b"),
        ),
        (
            format!(
                "<div class=MathJax_Preview>x^2</div><span class=MathJax><nobr aria-hidden=true>x2</nobr>{math}</span>b"
            ),
            format!("<span>{math}</span>b"),
        ),
        (
            format!("<span>{math}</span><img class=mwe-math-fallback-image-inline aria-hidden=true src=x alt=x^2>b"),
            format!("<span>{math}</span>b"),
        ),
    ] {
        check(&html, &expect);
    }
}

#[test]
fn f3_formulas_hide_only_their_rendering() {
    let math = "<math><mi>x</mi></math>";
    for (html, expect) in [
        (format!("{math}<p aria-hidden=true>a</p>b"), format!("{math}<p>a</p>b")),
        (format!("{math} <span aria-hidden=true>a</span>b"), format!("{math} <span>a</span>b")),
        (
            format!("<h2>{math}<a aria-hidden=true href=/x>#</a></h2>b"),
            format!("<h2>{math}<a href=\"http://e.org/x\">#</a></h2>b"),
        ),
        (format!("<p><i>{math}</i><b aria-hidden=true>a</p><p>b"), format!("<p><i>{math}</i><b>a</b></p><p>b</p>")),
        (format!("{math}<span aria-hidden=true>x</span>b"), format!("{math}b")),
        // A drawing without an end hides no more than its block.
        (format!("<div>{math}<span aria-hidden=true>x</div>b"), format!("<div>{math}</div>b")),
        (
            format!("<p><b>{math}</b><span class=katex-html aria-hidden=true>x<p>b"),
            format!("<p><b>{math}</b></p><p>b</p>"),
        ),
    ] {
        check(&html, &expect);
    }
}

#[test]
fn f3_tex_formulas_shown_as_source() {
    check("a <script type='math/tex'>x<y^2</script> b", "a <code>x&lt;y^2</code> b");
    check("<p><script type='math/tex; mode=display'>% <![CDATA[\nx %]]></script>", "<p><code>x</code></p>");
    check("<script type='math/tex'> </script><script type=text/x>y</script>z", "z");
    check("<i class=MathJax_Preview></i><script type='math/tex'>x</script>", "<i></i><code>x</code>");
    check("<i class=MathJax_Preview>x</i> y <script type='math/tex'>z</script>", "<i>x</i> y <code>z</code>");
    check("<svg><script type='math/tex'>x</script></svg>z", "z");
}

#[test]
fn f3_fences_of_a_formula_are_kept() {
    let math = |inside: &str| format!("<math>{inside}</math>");
    for (html, expect) in [
        ("<mfenced><mi>x</mi></mfenced>", "<mrow><mo>(</mo><mi>x</mi><mo>)</mo></mrow>"),
        (
            "<mfenced open='[' close='&gt;' separators='; |'><mi>x<mi>y</mi><mrow><mn>1</mn><mn>2</mn></mrow><mn>3</mn></mfenced><mi>z</mi>",
            "<mrow><mo>[</mo><mi>x</mi><mo>;</mo><mi>y</mi><mo>|</mo><mrow><mn>1</mn><mn>2</mn></mrow><mo>|</mo><mn>3</mn><mo>&gt;</mo></mrow><mi>z</mi>",
        ),
        (
            "<m:mfenced close='' separators=''><mfenced>x</mfenced><mi>y</mi></m:mfenced>",
            "<mrow><mo>(</mo><mrow><mo>(</mo><mtext>x</mtext><mo>)</mo></mrow><mi>y</mi></mrow>",
        ),
        ("<mfenced/>x", "<mrow><mo>(</mo><mo>)</mo></mrow><mtext>x</mtext>"),
        ("<mfenced><mi>x", "<mrow><mo>(</mo><mi>x</mi><mo>)</mo></mrow>"),
    ] {
        check(&math(html), &math(expect));
    }
    check("<mfenced>x</mfenced>", "x");
    let deep = sanitise(&format!("<math>{}x", "<mfenced>".repeat(1000)), None);
    assert_eq!(sanitise(&deep, None), deep);
}

#[test]
fn f3_srcset_keeps_all_candidates() {
    check(
        "<img srcset='a.png 1x,/b.png 1.5x,\n c,d.png 2x, e.png,f.png'>",
        "<img srcset=\"http://e.org/a/a.png 1x, http://e.org/b.png 1.5x, http://e.org/a/c,d.png 2x, http://e.org/a/e.png,f.png\">",
    );
    check(
        "<source srcset='a.webp 480w 320h, javascript:x 800w, b.webp 1200w wide'>",
        "<source srcset=\"http://e.org/a/a.webp 480w 320h, http://e.org/a/b.webp 1200w\">",
    );
}

#[test]
fn f3_lazy_pictures_win_over_placeholders() {
    const GIF: &str = "data:image/gif;base64,R0lGODlhAQABAAAAACw=";
    let real = "<img src=\"http://e.org/a/r.png\">";
    for html in [
        format!("<img src='{GIF}' data-src=r.png>"),
        format!("<img src='{GIF}' data-lazy-src=r.png>"),
        "<img src=blank.gif data-original=r.png>".to_owned(),
        format!("<img src=r.png srcset='{GIF}' data-lazy-src=r.png>"),
        "<img src=r.png data-src=12345>".to_owned(),
    ] {
        check(&html, real);
    }
    check(
        &format!("<img src='{GIF}' data-srcset='r.png 1x, s.png 2x'>"),
        "<img src=\"http://e.org/a/r.png\" srcset=\"http://e.org/a/r.png 1x, http://e.org/a/s.png 2x\">",
    );
    check("<source srcset=p.gif data-srcset='r.png 2x'>", "<source srcset=\"http://e.org/a/r.png 2x\">");
}

#[test]
fn f3_noscript_pictures_not_duplicated() {
    let real = "<img src=\"http://e.org/a/r.png\">";
    for html in [
        "<img data-src=r.png src=p.gif><noscript><img src=r.png></noscript>",
        "<img data-src='r.png'>\n<noscript>\n<img src='r.png?w=300'></noscript>",
        "<img src=r.png><noscript><img src=r.png></noscript>",
        "<noscript><img src=r.png></noscript><img data-src='r.png' src='data:image/gif,x'>",
        "<img src='data:image/gif,x'><noscript><img src=r.png></noscript>",
    ] {
        assert_eq!(sanitise(html, Url::parse("http://e.org/a/").ok().as_ref()).replace('\n', ""), real, "{html}");
    }
    check(
        "<img src=r.png><noscript><img src=s.png></noscript>",
        "<img src=\"http://e.org/a/r.png\"><img src=\"http://e.org/a/s.png\">",
    );
    check(
        "<img data-src=r.png>x<noscript><img src=s.png>y</noscript>",
        "<img src=\"http://e.org/a/r.png\">x<img src=\"http://e.org/a/s.png\">y",
    );
}

#[test]
fn f3_hidden_content_stays_hidden() {
    check("<p hidden>x</p>y", "<p hidden=\"\">x</p>y");
    check("<form hidden>x<p>z</p></form>y", "y");
    check("<div hidden='until-found'>x</div>", "<div hidden=\"\">x</div>");
}

#[test]
fn f3_text_after_head_kept() {
    check("<html><head><title>t</title><style>s</style></head>a<body>b", "ab");
    check("<head><meta charset=x>a<b>c</b>", "a<b>c</b>");
    check("<head><head><title>t</title></head>a", "a");
}

#[test]
fn f3_players_become_marked_links_with_picture() {
    let film = "<a href=\"https://www.youtube.com/watch?v=abcdefghijk\" data-player=\"https://www.youtube-nocookie.com/embed/abcdefghijk\">\
        <img src=\"https://i.ytimg.com/vi/abcdefghijk/hqdefault.jpg\" alt=\"\">https://www.youtube.com/watch?v=abcdefghijk</a>";
    for html in [
        "<iframe src='https://www.youtube.com/embed/abcdefghijk' title='YouTube video player'></iframe>",
        "<iframe data-src='//www.youtube.com/embed/abcdefghijk' src='about:blank'></iframe>",
        "<iframe data-lazy-src='https://www.youtube.com/embed/abcdefghijk'></iframe><noscript><iframe src='https://www.youtube.com/embed/abcdefghijk'></iframe></noscript>",
        "<object data='https://www.youtube.com/v/abcdefghijk'><param name=movie value=x><object>x</object><p>Get Flash</p></object>",
        "<object width=1><param name=movie value='http://www.youtube.com/v/abcdefghijk&fs=1'><embed src='http://www.youtube.com/v/abcdefghijk'></object>",
        "<embed src='http://www.youtube.com/v/abcdefghijk'>",
        "<lite-youtube videoid=abcdefghijk><a href=x>Play</a></lite-youtube>",
        "<amp-youtube data-videoid=abcdefghijk></amp-youtube>",
        "<a href=http://evil.example data-player='https://www.youtube.com/embed/abcdefghijk'>Click <b>here</b></a>",
    ] {
        check(html, film);
    }
    check(
        "<iframe src='https://player.vimeo.com/video/1' title=' A\n film '></iframe>x",
        "<a href=\"https://vimeo.com/1\" data-player=\"https://player.vimeo.com/video/1\" title=\"A film\">A film</a>x",
    );
    check(
        "<iframe src='https://bandcamp.com/EmbeddedPlayer/album=1/'><a href=\"https://x.bandcamp.com/album/y\">Y</a></iframe>",
        "<a href=\"https://x.bandcamp.com/album/y\" data-player=\"https://bandcamp.com/EmbeddedPlayer/album=1\">https://x.bandcamp.com/album/y</a>",
    );
    check("<embed src='https://e.org/x.swf'>", "");
    check("<object data='https://e.org/x.swf'></object>", "");
    check("<object data=x type='application/x-shockwave-flash'></object>", "");
    check("<object data=javascript:x></object><object data='data:application/pdf,x'></object><object></object>", "");
    check("<object data=x.pdf hidden></object>", "");
    let paper = "<a href=\"http://e.org/a/x.pdf\">http://e.org/a/x.pdf</a>";
    check("<object data=x.pdf type=application/pdf><param name=a value=b></object>b", &format!("{paper}b"));
    check("<object data=x.pdf />b", &format!("{paper}b"));
    check("<object data=y.pdf><object data=x.pdf></object></object>b", &format!("{paper}b"));
    check("<object data=x.pdf title='A paper'><p></p></object>", "<p></p><a href=\"http://e.org/a/x.pdf\">A paper</a>");
    check("<object data=x.pdf><img src=/x.png></object>", "<img src=\"http://e.org/x.png\">");
    check("<object data='https://e.org/x'><p>y</object>", "<p>y</p>");
}

#[test]
fn f3_player_mark_cannot_be_forged() {
    check("<a href='https://e.org/' data-player='https://e.org/'>x</a>", "<a href=\"https://e.org/\">x</a>");
    check("<a href='https://e.org/' data-player='javascript:x'>x</a>", "<a href=\"https://e.org/\">x</a>");
    check("<p data-player='https://www.youtube.com/embed/x'>x</p>", "<p>x</p>");
    check("<img src=x data-player='https://www.youtube.com/embed/x'>", "<img src=\"http://e.org/a/x\">");
}
