//! Folders: names that feeds are sorted under, in an order of the user's.

use crate::ids::FolderId;

/// Characters of a folder's name.
pub const FOLDER_NAME_CHARS_MAX: usize = 200;

/// A name as it is kept: in one line, one space between two words, without the characters that no XML can hold, so that
/// it survives every file that it is written to.
pub fn one_line(text: &str) -> String {
    let is_kept = |c: &char| c.is_whitespace() || !(c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'));
    let kept: String = text.chars().filter(is_kept).collect();
    kept.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folder {
    pub id: FolderId,
    /// Its name, which no other folder has.
    pub name: String,
    /// Its place among the others, from 0.
    pub order: i64,
}

/// The order of folders once these are wanted first, and the others as they were; `None` if one is not there or wanted
/// twice.
pub fn new_order(folders: &[Folder], wanted: &[FolderId]) -> Option<Vec<FolderId>> {
    let is_there = |id: &FolderId| folders.iter().any(|folder| folder.id == *id);
    let is_first = |(place, id): (usize, &FolderId)| !wanted[..place].contains(id);
    if !wanted.iter().all(is_there) || !wanted.iter().enumerate().all(is_first) {
        return None;
    }
    let others = folders.iter().map(|folder| folder.id).filter(|id| !wanted.contains(id));
    Some(wanted.iter().copied().chain(others).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn f6_wanted_folders_come_first() {
        let folder = |id| Folder { id: FolderId(id), name: id.to_string(), order: id };
        let folders = [3, 1, 2].map(folder);
        for (wanted, expect) in [
            (&[][..], Some(vec![3, 1, 2])),
            (&[2], Some(vec![2, 3, 1])),
            (&[1, 3], Some(vec![1, 3, 2])),
            (&[2, 1, 3], Some(vec![2, 1, 3])),
            (&[4], None),
            (&[1, 4], None),
            (&[1, 1], None),
        ] {
            let wanted: Vec<FolderId> = wanted.iter().copied().map(FolderId).collect();
            let order = new_order(&folders, &wanted).map(|order| order.iter().map(|id| id.0).collect::<Vec<_>>());
            assert_eq!(order, expect, "{wanted:?}");
        }
    }

    #[test]
    fn f6_a_name_is_one_line_of_what_xml_can_hold() {
        for (text, expect) in [
            (" a\r\n\tb\u{a0} \u{2028}c ", "a b c"),
            ("a\0b \u{7} c\u{1b}\u{9f}\u{ffff}", "ab c"),
            ("\u{1}\n", ""),
            ("\"&<>' \u{1f980}\u{200d}\u{fe0f} é", "\"&<>' \u{1f980}\u{200d}\u{fe0f} é"),
        ] {
            assert_eq!(one_line(text), expect, "{text:?}");
        }
    }
}
