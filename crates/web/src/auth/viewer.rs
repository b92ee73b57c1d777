//! What somebody sees of what concerns the whole server: administrators all of it, others what is about their own feeds and
//! webhooks.

use domain::ports::Viewer;

use super::Actor;

impl Actor {
    pub(crate) fn viewer(&self) -> Viewer {
        if self.check_admin().is_ok() { Viewer::Server } else { Viewer::Account(self.account) }
    }
}
