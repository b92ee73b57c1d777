//! Words that exclude (`-jumps`), which a command line would take for options.

use std::ffi::{OsStr, OsString};

/// A command line in which the excluding words of `entries search` stand last, behind `--`: the order of terms does not
/// count. What is an option of the command stays where it is.
pub(crate) fn kept_as_words(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let is_search = |pair: &[OsString]| (pair[0] == "entries" || pair[0] == "entry") && pair[1] == "search";
    let Some(from) = arguments.windows(2).position(is_search).map(|at| at + 2) else { return arguments };
    let end = arguments.iter().skip(from).position(|argument| argument == "--").map_or(arguments.len(), |at| from + at);
    let words: Vec<OsString> = arguments.extract_if(from..end, |argument| is_excluding(argument)).collect();
    if !words.is_empty() && !arguments[from..].iter().any(|argument| argument == "--") {
        arguments.push("--".into());
    }
    arguments.extend(words);
    arguments
}

/// `-jumps`, but not `-n`, `-n5`, `-h` or `--unread`.
fn is_excluding(argument: &OsStr) -> bool {
    let argument = argument.to_string_lossy();
    let Some(word) = argument.strip_prefix('-').filter(|word| !word.is_empty()) else { return false };
    let is_limit = word.strip_prefix('n').is_some_and(|value| {
        value.is_empty() || value.starts_with('=') || value.bytes().all(|byte| byte.is_ascii_digit())
    });
    !word.starts_with('-') && !is_limit && word != "h"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u5_excluding_words_are_no_options() {
        for (typed, expect) in [
            ("entries search bread", "entries search bread"),
            ("entries search -jumps", "entries search -- -jumps"),
            ("entry search -news bread --unread -n 5", "entry search bread --unread -n 5 -- -news"),
            ("entries search bread -n5 -h -n=7 - --json", "entries search bread -n5 -h -n=7 - --json"),
            ("--data-dir x entries search -\"a\" c -conf*", "--data-dir x entries search c -- -\"a\" -conf*"),
            ("entries search a -b -- -c", "entries search a -- -c -b"),
            ("entries -n5", "entries -n5"),
            ("search -jumps", "search -jumps"),
        ] {
            let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
            assert_eq!(kept_as_words(words(typed)), words(expect), "{typed}");
        }
    }
}
