//! Accounts, for administrators.

use domain::account::Account;
use maud::{Markup, html};

use super::{
    super::{
        board::{ago, badge, button, confirmed},
        layout::Frame,
    },
    PATH, SHOWN_MAX,
};

pub(super) fn accounts(frame: &Frame, all: &[Account]) -> Markup {
    html! {
        section #accounts {
            h2 { "Accounts" }
            div .wide tabindex="0" role="group" aria-label="Accounts" {
                table .cards {
                    thead { tr { th scope="col" { "Name" } th scope="col" { "May" } th scope="col" { "Password" } th scope="col" { "Made" } th scope="col" { span .sr { "Actions" } } } }
                    tbody { @for account in all.iter().take(SHOWN_MAX) { (row(frame, account)) } }
                }
            }
            @if all.len() > SHOWN_MAX { p { "And " (all.len() - SHOWN_MAX) " more: " code { "GET /api/accounts" } " lists them all." } }
            form .fields method="post" action=(PATH) {
                h3 { "New account" }
                div .pair {
                    label { "Name" input type="text" name="name" required maxlength="64" autocomplete="off"; }
                    label { "Password (8 characters or more)" input type="password" name="password" required minlength="8" maxlength="1024" autocomplete="new-password"; }
                }
                label .check { input type="checkbox" name="isAdmin" value="true"; "Administrator: manages accounts, and sees how the whole server stands" }
                button .button .quiet name="do" value="add-account" { "Add the account" }
            }
        }
    }
}

fn row(frame: &Frame, account: &Account) -> Markup {
    let id = account.id.to_string();
    let is_own = account.id == frame.actor.account;
    let hidden = [("id", id.as_str())];
    let (action, label) =
        if account.is_admin { ("no-admin", "Make no administrator") } else { ("admin", "Make administrator") };
    html! {
        tr {
            th scope="row" dir="auto" { (account.name) @if is_own { " " (badge("good", "you")) } }
            td data-name="May" { @if account.is_admin { "administrate" } @else { "read" } }
            td data-name="Password" { @if account.has_password { "yes" } @else { "none" } }
            td data-name="Made" { (ago(Some(account.created_at), frame.now)) }
            td .actions {
                // One's own is above, with the one until now.
                @if !is_own || !account.has_password || frame.actor.session.is_none() {
                    details .confirm {
                        summary .button .quiet .small { "Password…" span .sr { " of " (account.name) } }
                        form method="post" action=(PATH) {
                            input type="hidden" name="id" value=(id);
                            label { "New password" input type="password" name="password" required minlength="8" maxlength="1024" autocomplete="new-password"; }
                            button .button .quiet .small name="do" value="set-password" { "Set it" span .sr { " for " (account.name) } }
                        }
                    }
                }
                (button(PATH, action, label, &format!("({})", account.name), &hidden))
                (confirmed(PATH, "remove-account", "Remove", &account.name, "It goes with its feeds, marks, webhooks and tokens.", &hidden))
            }
        }
    }
}
