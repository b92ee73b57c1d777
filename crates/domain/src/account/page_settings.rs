//! How somebody wants pages to look and behave. It belongs to the account, so that it follows the person to another
//! browser. What is kept is a JSON object: a value that is not known is left alone, as a later version may have put it there.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

use crate::entry::Order;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Theme {
    /// Light or dark, as the system is.
    #[default]
    System,
    Light,
    Dark,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TextSize {
    Small,
    #[default]
    Medium,
    Large,
    VeryLarge,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSettings {
    pub theme: Theme,
    pub text_size: TextSize,
    /// Which entries come first.
    pub order: Order,
    /// Lists show the first words of entries, too.
    pub has_summaries: bool,
    /// What is scrolled past is marked as read.
    pub marks_on_scroll: bool,
    /// Single keys do something.
    pub has_keys: bool,
}

impl Default for PageSettings {
    fn default() -> Self {
        Self {
            theme: Theme::default(),
            text_size: TextSize::default(),
            order: Order::Newest,
            has_summaries: true,
            marks_on_scroll: false,
            has_keys: true,
        }
    }
}

/// What is to be changed. What is not named stays.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PageSettingsPatch {
    pub theme: Option<Theme>,
    pub text_size: Option<TextSize>,
    pub order: Option<Order>,
    pub has_summaries: Option<bool>,
    pub marks_on_scroll: Option<bool>,
    pub has_keys: Option<bool>,
}

impl PageSettings {
    /// As it is kept; what is missing or not known is as it is by default.
    pub fn read(kept: &str) -> Self {
        let kept = object(kept);
        let patch = PageSettingsPatch {
            theme: value(&kept, "theme"),
            text_size: value(&kept, "textSize"),
            order: value::<String>(&kept, "order").and_then(|name| Order::by_name(&name)),
            has_summaries: value(&kept, "summaries"),
            marks_on_scroll: value(&kept, "markOnScroll"),
            has_keys: value(&kept, "keys"),
        };
        Self::default().with(patch)
    }

    /// The same with these changes.
    #[must_use]
    pub fn with(self, patch: PageSettingsPatch) -> Self {
        Self {
            theme: patch.theme.unwrap_or(self.theme),
            text_size: patch.text_size.unwrap_or(self.text_size),
            order: patch.order.unwrap_or(self.order),
            has_summaries: patch.has_summaries.unwrap_or(self.has_summaries),
            marks_on_scroll: patch.marks_on_scroll.unwrap_or(self.marks_on_scroll),
            has_keys: patch.has_keys.unwrap_or(self.has_keys),
        }
    }
}

impl PageSettingsPatch {
    /// What is kept once these changes are made to it.
    pub fn applied_to(self, kept: &str) -> String {
        let mut kept = object(kept);
        set(&mut kept, "theme", self.theme);
        set(&mut kept, "textSize", self.text_size);
        set(&mut kept, "order", self.order.map(Order::name));
        set(&mut kept, "summaries", self.has_summaries);
        set(&mut kept, "markOnScroll", self.marks_on_scroll);
        set(&mut kept, "keys", self.has_keys);
        Value::Object(kept).to_string()
    }
}

fn object(kept: &str) -> Map<String, Value> {
    serde_json::from_str(kept).unwrap_or_default()
}

fn value<T: DeserializeOwned>(kept: &Map<String, Value>, name: &str) -> Option<T> {
    kept.get(name).and_then(|value| T::deserialize(value).ok())
}

fn set(kept: &mut Map<String, Value>, name: &str, value: Option<impl Serialize>) {
    if let Some(value) = value.and_then(|value| serde_json::to_value(value).ok()) {
        kept.insert(name.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a1_page_settings_come_back_as_they_went() {
        let patch = PageSettingsPatch {
            theme: Some(Theme::Dark),
            text_size: Some(TextSize::VeryLarge),
            order: Some(Order::Oldest),
            has_summaries: Some(false),
            marks_on_scroll: Some(true),
            has_keys: Some(false),
        };
        let kept = patch.applied_to("{}");
        assert_eq!(PageSettings::read(&kept), PageSettings::default().with(patch));
        let one = PageSettingsPatch { theme: Some(Theme::Light), ..PageSettingsPatch::default() };
        let read = PageSettings::read(&one.applied_to(&kept));
        assert_eq!((read.theme, read.text_size, read.has_keys), (Theme::Light, TextSize::VeryLarge, false));
    }

    #[test]
    fn a1_unknown_page_settings_are_left_alone() {
        let kept = r#"{"theme":"sepia","later":[1],"keys":"maybe","order":"oldest"}"#;
        let read = PageSettings::read(kept);
        assert_eq!(read, PageSettings { order: Order::Oldest, ..PageSettings::default() });
        let patch = PageSettingsPatch { has_keys: Some(false), ..PageSettingsPatch::default() };
        let after: Map<String, Value> = serde_json::from_str(&patch.applied_to(kept)).unwrap();
        assert_eq!(
            (&after["theme"], &after["later"], &after["keys"]),
            (&"sepia".into(), &vec![1].into(), &false.into())
        );
        for broken in ["", "nonsense", "[]", "null"] {
            assert_eq!(PageSettings::read(broken), PageSettings::default(), "{broken}");
        }
    }
}
