//! Apps of other readers: for each interface the address to type, and a token to type as the password.

use maud::{Markup, html};

use super::PATH;

/// An interface that apps speak.
struct Interface {
    name: &'static str,
    /// What follows the server's own address.
    path: &'static str,
    /// What an app calls it, or who speaks it.
    apps: &'static str,
}

const INTERFACES: [Interface; 3] = [
    Interface {
        name: "Google Reader",
        path: "/api/greader.php",
        apps: "FreshRSS or Google Reader in most apps. Those that ask for a FreshRSS server may take the address without /api/greader.php.",
    },
    Interface { name: "Fever", path: "/fever/", apps: "Fever. It takes a token, never the password." },
    Interface { name: "Miniflux", path: "", apps: "Miniflux." },
];

pub(super) fn section(address: &str, name: &str) -> Markup {
    html! {
        section #apps {
            h2 { "Apps" }
            p .note { "Apps made for other readers work here. Type the address of their kind, the name " b dir="auto" { (name) } ", and a token as the password." }
            div .wide tabindex="0" role="group" aria-label="Apps" {
                table .cards {
                    thead { tr { th scope="col" { "Kind" } th scope="col" { "Address" } th scope="col" { "In the app" } th scope="col" { span .sr { "Actions" } } } }
                    tbody { @for interface in &INTERFACES { (row(interface, address)) } }
                }
            }
        }
    }
}

fn row(interface: &Interface, address: &str) -> Markup {
    html! {
        tr {
            th scope="row" { (interface.name) }
            td .words data-name="Address" { code { (address) (interface.path) } }
            td data-name="In the app" { (interface.apps) }
            td .actions {
                form method="post" action=(PATH) {
                    input type="hidden" name="name" value={ (interface.name) " app" };
                    input type="hidden" name="scope" value="write";
                    button .button .quiet .small name="do" value="token" { "Make a token" span .sr { " for " (interface.name) } }
                }
            }
        }
    }
}
