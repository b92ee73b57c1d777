//! F6: folders, ordered, deletable with their feeds kept.

use domain::{
    EntryFilter, Folder, FolderId,
    ports::{Conflict, UpdateOutcome},
};

use super::{
    Harness,
    given::{entry, new_feed},
};

contract! {
    f6_a_new_folder_is_the_last,
    f6_a_name_is_taken_once,
    f6_folders_are_put_in_order_and_the_rest_follow,
    f6_an_invalid_folder_order_changes_nothing,
    f6_a_deleted_folder_leaves_its_feeds_and_their_entries,
}

async fn f6_a_new_folder_is_the_last(harness: &Harness) {
    assert_eq!(harness.store.folders().await.unwrap(), []);
    let news = make(harness, "News").await;
    let blogs = make(harness, "Blogs").await;
    assert_eq!((news.order, blogs.order), (0, 1));
    assert_eq!(harness.store.folders().await.unwrap(), [news, blogs]);
}

async fn f6_a_name_is_taken_once(harness: &Harness) {
    let news = make(harness, "News").await;
    let blogs = make(harness, "Blogs").await;
    assert_eq!(harness.store.create_folder("News").await.unwrap(), Err(Conflict));
    assert_eq!(harness.store.rename_folder(blogs.id, "News").await.unwrap(), UpdateOutcome::Conflict(None));
    assert_eq!(harness.store.rename_folder(FolderId(999), "Other").await.unwrap(), UpdateOutcome::NotFound);
    assert_eq!(harness.store.folders().await.unwrap(), [news.clone(), blogs.clone()]);
    let same = harness.store.rename_folder(news.id, "News").await.unwrap();
    assert_eq!(same, UpdateOutcome::Updated(Box::new(news.clone())));
    let renamed = Folder { name: "Weblogs".to_owned(), ..blogs };
    let outcome = harness.store.rename_folder(renamed.id, "Weblogs").await.unwrap();
    assert_eq!(outcome, UpdateOutcome::Updated(Box::new(renamed.clone())));
    assert_eq!(harness.store.folders().await.unwrap(), [news, renamed]);
}

async fn f6_folders_are_put_in_order_and_the_rest_follow(harness: &Harness) {
    let ids = make_all(harness, ["a", "b", "c", "d"]).await;
    let order = harness.store.reorder_folders(&[ids[2], ids[0]]).await.unwrap().unwrap();
    assert_eq!(names(&order), ["c", "a", "b", "d"]);
    assert_eq!(order.iter().map(|folder| folder.order).collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert_eq!(harness.store.folders().await.unwrap(), order);
    assert_eq!(make(harness, "e").await.order, 4);
    let same = harness.store.reorder_folders(&[]).await.unwrap().unwrap();
    assert_eq!(names(&same), ["c", "a", "b", "d", "e"]);
}

async fn f6_an_invalid_folder_order_changes_nothing(harness: &Harness) {
    let ids = make_all(harness, ["a", "b"]).await;
    for bad in [vec![ids[1], FolderId(999)], vec![ids[1], ids[0], ids[1]]] {
        assert_eq!(harness.store.reorder_folders(&bad).await.unwrap(), None, "{bad:?}");
        assert_eq!(names(&harness.store.folders().await.unwrap()), ["a", "b"]);
    }
}

async fn f6_a_deleted_folder_leaves_its_feeds_and_their_entries(harness: &Harness) {
    let ids = make_all(harness, ["a", "b", "c"]).await;
    let mut new = new_feed("http://e.org/1", vec![entry("1"), entry("2")]);
    new.folder_id = Some(ids[1]);
    let feed = harness.add_feed(new).await;
    assert_eq!(feed.folder_id, Some(ids[1]));
    assert_eq!(harness.store.counts().await.unwrap().by_folder[&ids[1]], 2);

    assert!(harness.store.delete_folder(ids[1]).await.unwrap());
    assert!(!harness.store.delete_folder(ids[1]).await.unwrap());
    assert_eq!(harness.feed(feed.id).await.folder_id, None);
    let of_folder = EntryFilter { folder_id: Some(ids[1]), ..EntryFilter::default() };
    assert_eq!(harness.entries(of_folder).await, []);
    assert_eq!(harness.all().await.len(), 2);
    assert!(harness.store.counts().await.unwrap().by_folder.is_empty());
    let folders = harness.store.folders().await.unwrap();
    assert_eq!(folders.iter().map(|folder| (folder.id, folder.order)).collect::<Vec<_>>(), [(ids[0], 0), (ids[2], 1)]);
}

async fn make(harness: &Harness, name: &str) -> Folder {
    harness.store.create_folder(name).await.unwrap().expect("the name is free")
}

async fn make_all<const N: usize>(harness: &Harness, names: [&str; N]) -> Vec<FolderId> {
    let mut ids = Vec::new();
    for name in names {
        ids.push(make(harness, name).await.id);
    }
    ids
}

fn names(folders: &[Folder]) -> Vec<&str> {
    folders.iter().map(|folder| folder.name.as_str()).collect()
}
