//! JSON: nesting, and values that are much larger in memory than as text.

use super::{Case, filled};

pub(super) const CASES: [Case; 13] = [
    Case { name: "json-deep-lists.json", make: || filled(OPEN, "[", "") },
    Case { name: "json-deep-objects.json", make: || filled("", "{\"a\":", "") },
    Case { name: "json-escapes.json", make: || filled(CONTENT, "\\u0041", "\"}]}") },
    Case { name: "json-escapes-cut.json", make: || filled(CONTENT, "\\ud800", "") },
    Case { name: "json-numbers.json", make: || filled(OPEN, "0,", "0]}") },
    Case { name: "json-lists.json", make: || filled(OPEN, "[0],", "0]}") },
    Case { name: "json-objects.json", make: || filled(OPEN, "{\"a\":0},", "0]}") },
    Case { name: "json-items.json", make: || filled(OPEN, "{\"id\":1},", "{}]}") },
    Case {
        name: "json-items-unknown.json",
        make: || filled("{\"version\":\"https://jsonfeed.org/version/1\",\"x\":[", "[],", "0],\"items\":[]}"),
    },
    Case {
        name: "json-tags.json",
        make: || filled("{\"title\":\"t\",\"items\":[{\"id\":\"1\",\"tags\":[", "\"\",", "\"\"]}]}"),
    },
    Case { name: "json-mended-commas.json", make: || filled(OPEN, "[,],", "]}") },
    Case { name: "json-mended-spaces.json", make: || filled(OPEN, " ", ",,]") },
    Case { name: "json-keys.json", make: keys },
];

const OPEN: &str = "{\"title\":\"t\",\"items\":[";
const CONTENT: &str = "{\"title\":\"t\",\"items\":[{\"id\":\"1\",\"content_html\":\"";

fn keys() -> Vec<u8> {
    let keys: String = (0..1_000_000).map(|n| format!("\"{n}\":0,")).collect();
    filled(&format!("{{{keys}\"title\":\"t\",\"items\":["), " ", "]}")
}
