//! Lists that the API gives out page by page.

use anyhow::Context;
use reqwest::Method;
use serde_json::Value;

use crate::backend::Backend;

/// Items that one request lists.
const PAGE_MAX: usize = 500;

/// So many items of a list, with where the next begins. `conditions` are those of the request, by name.
pub(super) async fn paged(
    backend: &dyn Backend,
    path: &str,
    conditions: &[(&str, String)],
    list: &str,
    limit: usize,
) -> anyhow::Result<(Vec<Value>, Option<String>)> {
    let (mut items, mut cursor) = (Vec::new(), None);
    while items.len() < limit {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(conditions);
        query.append_pair("limit", &(limit - items.len()).min(PAGE_MAX).to_string());
        query.extend_pairs(cursor.iter().map(|cursor: &String| ("cursor", cursor)));
        let mut page = backend.call(Method::GET, &format!("{path}?{}", query.finish()), None).await?;
        items.append(page[list].as_array_mut().with_context(|| format!("a page without {list}"))?);
        cursor = page["nextCursor"].as_str().map(str::to_owned);
        if cursor.is_none() {
            break;
        }
    }
    Ok((items, cursor))
}
