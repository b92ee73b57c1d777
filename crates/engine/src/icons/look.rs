//! Where the icon of a feed may be: what its document names, what its page names, where browsers look by themselves, and
//! last the larger picture of the document.

use std::time::Duration;

use bytes::Bytes;
use domain::{
    icon::{ICON_FETCHED_BYTES_MAX, IconJob, IconLook, NewIcon},
    ports::{Arrived, Headers, HttpRequest, HttpResponse, Method},
};
use url::Url;

use crate::context::Context;

/// Redirects followed from one address.
const REDIRECTS_MAX: usize = 5;

/// How long one request may take, and all for one feed together.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
const LOOK_TIMEOUT: Duration = Duration::from_secs(25);

/// Bytes of a page whose head is read.
const PAGE_BYTES_MAX: usize = 2 * 1024 * 1024;

/// Icons of a page that are tried.
const OF_PAGE_MAX: usize = 3;

const PAGE_ACCEPT: &str = "text/html, application/xhtml+xml;q=0.9, */*;q=0.1";

/// What is kept; SVG is refused, so it is not asked for.
const ICON_ACCEPT: &str = "image/png, image/x-icon, image/webp, image/gif, image/jpeg, */*;q=0.1";

/// Looks for the icon of a feed, for as long as that may take.
pub(super) async fn look(context: &Context, job: &IconJob) -> IconLook {
    let mut search = IconSearch { context, tried: Vec::new(), has_failed: false };
    let found = tokio::time::timeout(LOOK_TIMEOUT, search.find(job)).await;
    match found {
        Ok(Some(icon)) => IconLook::Found(icon),
        Ok(None) if !search.has_failed => IconLook::None,
        Ok(None) | Err(_) => IconLook::Failed,
    }
}

struct IconSearch<'a> {
    context: &'a Context,
    /// Each address is asked once.
    tried: Vec<String>,
    /// Somebody could not be asked, so it is open whether there is one.
    has_failed: bool,
}

impl IconSearch<'_> {
    async fn find(&mut self, job: &IconJob) -> Option<NewIcon> {
        if let Some(icon) = self.icon_at(job.icon_url.as_deref()).await {
            return Some(icon);
        }
        let page = job.site_url.as_deref().unwrap_or(&job.url);
        let page = Url::parse(page).ok()?;
        // A feed without a page has that of its host: the address of the feed may be a secret.
        let page = if job.site_url.is_some() { page } else { page.join("/").ok()? };
        let (of_page, page) = self.named_by_page(page).await;
        for url in of_page.iter().take(OF_PAGE_MAX) {
            if let Some(icon) = self.icon_at(Some(url)).await {
                return Some(icon);
            }
        }
        let usual = page.join("/favicon.ico").ok();
        if let Some(icon) = self.icon_at(usual.as_ref().map(Url::as_str)).await {
            return Some(icon);
        }
        self.icon_at(job.logo_url.as_deref()).await
    }

    /// The icons that a page names, and where it is after redirects.
    async fn named_by_page(&mut self, page: Url) -> (Vec<String>, Url) {
        let Some(response) = self.ask(page.as_str(), PAGE_ACCEPT, PAGE_BYTES_MAX).await else {
            return (Vec::new(), page);
        };
        let hints = feed::Hints {
            content_type: response.headers.get("content-type"),
            url: Some(&response.url),
            document_bytes_max: PAGE_BYTES_MAX,
            ..feed::Hints::default()
        };
        (feed::icons(&response.body, &hints), Url::parse(&response.url).unwrap_or(page))
    }

    async fn icon_at(&mut self, url: Option<&str>) -> Option<NewIcon> {
        let response = self.ask(url?, ICON_ACCEPT, ICON_FETCHED_BYTES_MAX).await?;
        NewIcon::of(response.body)
    }

    /// What is at an address, if it answers with something. Nobody's password goes along.
    async fn ask(&mut self, url: &str, accept: &str, body_bytes_max: usize) -> Option<HttpResponse> {
        if self.tried.iter().any(|tried| tried == url) {
            return None;
        }
        self.tried.push(url.to_owned());
        let Some(admission) = self.context.hosts.apply(url) else {
            self.has_failed = true;
            return None;
        };
        let _place = admission.wait().await;
        let request = HttpRequest {
            method: Method::Get,
            url: url.to_owned(),
            credentials: None,
            headers: Headers(vec![("accept".to_owned(), accept.to_owned())]),
            body: Bytes::new(),
            body_bytes_max,
            redirects_max: REDIRECTS_MAX,
            timeout: REQUEST_TIMEOUT,
            arrived: Arrived::default(),
        };
        match self.context.deps.http.send(request).await {
            Ok(response) => {
                self.has_failed |= response.status >= 500 || response.status == 429;
                (200..300).contains(&response.status).then_some(response)
            }
            Err(error) => {
                self.has_failed |= !is_final(&error);
                None
            }
        }
    }
}

/// Whether the same would be answered at any time.
fn is_final(error: &domain::ports::HttpError) -> bool {
    use domain::ports::HttpError as E;
    matches!(
        error,
        E::BadUrl(_) | E::Forbidden(_) | E::OwnServer(_) | E::TooLarge(..) | E::Redirects(_) | E::RedirectScheme(_)
    )
}
