//! What an account wants of pages.

use domain::{
    account::{PageSettings, PageSettingsPatch, TextSize, Theme},
    entry::Order,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Light or dark.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[schema(as = Theme)]
#[serde(rename_all = "camelCase")]
pub(crate) enum ThemeView {
    System,
    Light,
    Dark,
}

/// How large texts are.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[schema(as = TextSize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum TextSizeView {
    Small,
    Medium,
    Large,
    VeryLarge,
}

/// Which entries come first.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[schema(as = PageOrder)]
#[serde(rename_all = "camelCase")]
pub(crate) enum PageOrderView {
    Newest,
    Oldest,
}

/// How somebody wants pages to look and behave. A browser may have a theme and a text size of its own.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PageSettings)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PageSettingsView {
    theme: ThemeView,
    text_size: TextSizeView,
    order: PageOrderView,
    /// Lists show the first words of entries, too.
    summaries: bool,
    /// What is scrolled past is marked as read.
    mark_on_scroll: bool,
    /// Single keys do something.
    keys: bool,
}

/// What to change about that. What is not named stays.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = PageSettingsPatch)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct PageSettingsBody {
    theme: Option<ThemeView>,
    text_size: Option<TextSizeView>,
    order: Option<PageOrderView>,
    /// Lists show the first words of entries, too.
    summaries: Option<bool>,
    /// What is scrolled past is marked as read.
    mark_on_scroll: Option<bool>,
    /// Single keys do something.
    keys: Option<bool>,
}

impl From<PageSettings> for PageSettingsView {
    fn from(settings: PageSettings) -> Self {
        let PageSettings { theme, text_size, order, has_summaries, marks_on_scroll, has_keys } = settings;
        Self {
            theme: match theme {
                Theme::System => ThemeView::System,
                Theme::Light => ThemeView::Light,
                Theme::Dark => ThemeView::Dark,
            },
            text_size: match text_size {
                TextSize::Small => TextSizeView::Small,
                TextSize::Medium => TextSizeView::Medium,
                TextSize::Large => TextSizeView::Large,
                TextSize::VeryLarge => TextSizeView::VeryLarge,
            },
            order: match order {
                Order::Newest => PageOrderView::Newest,
                Order::Oldest => PageOrderView::Oldest,
            },
            summaries: has_summaries,
            mark_on_scroll: marks_on_scroll,
            keys: has_keys,
        }
    }
}

impl From<PageSettingsBody> for PageSettingsPatch {
    fn from(body: PageSettingsBody) -> Self {
        let PageSettingsBody { theme, text_size, order, summaries, mark_on_scroll, keys } = body;
        Self {
            theme: theme.map(|theme| match theme {
                ThemeView::System => Theme::System,
                ThemeView::Light => Theme::Light,
                ThemeView::Dark => Theme::Dark,
            }),
            text_size: text_size.map(|size| match size {
                TextSizeView::Small => TextSize::Small,
                TextSizeView::Medium => TextSize::Medium,
                TextSizeView::Large => TextSize::Large,
                TextSizeView::VeryLarge => TextSize::VeryLarge,
            }),
            order: order.map(|order| match order {
                PageOrderView::Newest => Order::Newest,
                PageOrderView::Oldest => Order::Oldest,
            }),
            has_summaries: summaries,
            marks_on_scroll: mark_on_scroll,
            has_keys: keys,
        }
    }
}
