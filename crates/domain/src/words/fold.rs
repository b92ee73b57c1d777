//! Which characters are the same to whoever searches.
//!
//! Forms for compatibility (full and half width, ligatures, digits in circles) are what they stand for; case and the
//! accents of Latin and Greek letters do not count, nor do Hebrew points, Arabic vowel signs and stress marks in any
//! script. Russians write `ё` as `е` at will. Other letters stay apart however they look: `й` is no `и`. Of the Arabic
//! letters those are the same that writers and keyboards mix up. What nobody sees (soft hyphens, marks of direction) is
//! not there.

use unicode_normalization::{UnicodeNormalization, char::decompose_canonical};

/// Gives the folded characters of a part of a text that holds no white space of ASCII.
pub(super) fn for_each_folded(text: &str, mut each: impl FnMut(char)) {
    if text.is_ascii() {
        text.bytes().for_each(|byte| each(char::from(byte.to_ascii_lowercase())));
        return;
    }
    for c in text.chars().filter(|c| !is_invisible(*c)).nfkc().flat_map(char::to_lowercase) {
        if c.is_ascii() {
            each(c);
        } else if !is_dropped(c) {
            fold(c, &mut each);
        }
    }
}

fn fold(c: char, each: &mut impl FnMut(char)) {
    let base = if letters_of(c).is_some() { c } else { base_of(c).unwrap_or(c) };
    match letters_of(base) {
        Some(letters) => letters.chars().for_each(each),
        None => each(base),
    }
}

/// The letters that some are written as.
fn letters_of(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'æ' => "ae",
        'œ' => "oe",
        'þ' => "th",
        'ø' => "o",
        'ł' => "l",
        'đ' | 'ð' => "d",
        'ħ' => "h",
        'ŧ' => "t",
        'ı' => "i",
        // The sigma that ends a word.
        'ς' => "σ",
        'ё' | 'ѐ' => "е",
        'ѝ' => "и",
        // Alef with its signs; yeh, kaf and heh as keyboards differ.
        'آ' | 'أ' | 'إ' | 'ٱ' => "ا",
        'ى' | 'ی' => "ي",
        'ک' => "ك",
        'ة' | 'ۀ' => "ه",
        '٠' | '۰' => "0",
        '١' | '۱' => "1",
        '٢' | '۲' => "2",
        '٣' | '۳' => "3",
        '٤' | '۴' => "4",
        '٥' | '۵' => "5",
        '٦' | '۶' => "6",
        '٧' | '۷' => "7",
        '٨' | '۸' => "8",
        '٩' | '۹' => "9",
        _ => return None,
    })
}

/// The Latin or Greek letter under its accents.
fn base_of(c: char) -> Option<char> {
    if !matches!(c, '\u{c0}'..='\u{24f}' | '\u{370}'..='\u{3ff}' | '\u{1e00}'..='\u{1fff}') {
        return None;
    }
    let mut base = None;
    decompose_canonical(c, |part| {
        base.get_or_insert(part);
    });
    base
}

/// Accents that no letter has taken up, points, vowel signs, and the line that stretches Arabic words.
fn is_dropped(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}'
        | '\u{483}'..='\u{489}'
        | '\u{591}'..='\u{5bd}' | '\u{5bf}' | '\u{5c1}' | '\u{5c2}' | '\u{5c4}' | '\u{5c5}' | '\u{5c7}'
        | '\u{610}'..='\u{61a}' | '\u{640}' | '\u{64b}'..='\u{65f}' | '\u{670}'
        | '\u{6d6}'..='\u{6dc}' | '\u{6df}'..='\u{6e4}' | '\u{6e7}' | '\u{6e8}' | '\u{6ea}'..='\u{6ed}'
        | '\u{8d3}'..='\u{8e1}' | '\u{8e3}'..='\u{8ff}'
        | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}')
}

/// Soft hyphens, places where a line may break or not, joiners, marks of direction, variation selectors, tags.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'
        | '\u{200d}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All of a row fold to its first.
    #[test]
    fn f6_letters_are_the_same_as_people_expect() {
        for row in [
            &["creme brulee", "Crème Brûlée", "cre\u{300}me bru\u{302}le\u{301}e"][..],
            &["strasse", "Straße", "STRASSE", "STRAẞE"],
            &["oresund", "Øresund", "øresund"],
            &["aether", "Æther", "Ǽther"],
            &["lodz", "Łódź"],
            &["dien", "Điện", "Đie\u{323}\u{302}n"],
            &["istanbul", "İstanbul", "ISTANBUL", "ıstanbul"],
            &["ελλαδα", "Ελλάδα", "ΕΛΛΆΔΑ", "ελλα\u{301}δα"],
            &["οδοσ", "ΟΔΟΣ", "οδός", "Ὁδός"],
            &["αδησ", "ᾍδης", "ᾅδης", "αδης"],
            &["елка", "ёлка", "Ёлка", "Е\u{308}лка"],
            &["замок", "за\u{301}мок"],
            &["йод", "Йод", "И\u{306}од"],
            &["שלום", "שָׁלוֹם", "שָׁלוֹם"],
            &["احمد", "أحمد", "أَحْمَد", "احـــمد"],
            &["مدرسه", "مدرسة"],
            &["علي", "على", "علی"],
            &["2024", "٢٠٢٤", "۲۰۲۴", "２０２４", "②⓪②④"],
            &["abc", "ＡＢＣ", "ａｂｃ"],
            &["ガギグ", "ｶﾞｷﾞｸﾞ", "カ\u{3099}キ\u{3099}ク\u{3099}"],
            &["한글", "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}"],
            &["office", "oﬃce", "of\u{ad}fice", "of\u{200b}fice", "\u{202b}office\u{200f}"],
        ] {
            for text in row {
                let mut folded = String::new();
                for_each_folded(text, |c| folded.push(c));
                assert_eq!(folded, row[0], "{text}");
            }
        }
    }

    #[test]
    fn f6_letters_that_are_others_stay_others() {
        for (one, other) in
            [("йод", "иод"), ("їжа", "іжа"), ("ў", "у"), ("が", "か"), ("ぱ", "は"), ("あ", "ア"), ("ต", "ด")]
        {
            let (mut left, mut right) = (String::new(), String::new());
            for_each_folded(one, |c| left.push(c));
            for_each_folded(other, |c| right.push(c));
            assert_ne!(left, right);
        }
    }
}
