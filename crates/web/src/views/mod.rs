//! The JSON shapes of the API, made from the domain's types. Doc comments in here are part of the API: the description
//! shows them.
//!
//! What a webhook is sent has shapes of its own (`domain::delivery::PayloadData`), which are stored and change at another
//! pace.

mod account;
mod delivery;
mod entry;
mod feed;
mod figures;
mod folder;
pub(crate) mod ids;
mod page_settings;
mod subscription;
mod webhook;

pub(crate) use self::{
    account::{AccountView, ScopeView, SessionView, TokenView},
    delivery::{AttemptView, DeliveryView, OverviewView, StatusView},
    entry::{CountsView, EntryView},
    feed::FeedView,
    figures::{FiguresView, MetricView, PointView, StepView},
    folder::FolderView,
    page_settings::{PageSettingsBody, PageSettingsView},
    subscription::SubscriptionView,
    webhook::WebhookView,
};
