//! Folders: made, named, ordered, removed with their feeds kept.

use serde_json::{Value, json};

use crate::world::{World, fields, keys, rss};

impl World {
    async fn folder(&self, name: &str) -> Value {
        self.send("POST", "/api/folders", &json!({ "name": name })).await.ok(201)
    }

    async fn folder_names(&self) -> Vec<String> {
        let folders = self.get("/api/folders").await;
        folders.as_array().unwrap().iter().map(|folder| folder["name"].as_str().unwrap().to_owned()).collect()
    }
}

#[tokio::test]
async fn f6_folders_are_made_in_order_with_trimmed_names() {
    let world = World::start().await;
    assert_eq!(world.get("/api/folders").await, json!([]));
    let folder = world.folder("  Daily ").await;
    assert_eq!(keys(&folder), fields("id name order"));
    assert_eq!((&folder["name"], &folder["order"]), (&json!("Daily"), &json!(0)));
    world.folder(&"ä".repeat(200)).await;
    world.folder("Weekly").await;
    assert_eq!(world.folder_names().await, ["Daily", &"ä".repeat(200), "Weekly"]);
}

#[tokio::test]
async fn f6_a_name_that_is_taken_is_409() {
    let world = World::start().await;
    let (daily, weekly) = (world.folder("Daily").await, world.folder("Weekly").await);
    assert!(world.send("POST", "/api/folders", &json!({"name": "Daily "})).await.error(409).contains("name"));
    let path = format!("/api/folders/{}", weekly["id"]);
    let taken = world.send("PATCH", &path, &json!({"name": "Daily"})).await;
    taken.error(409);
    assert_eq!(keys(&taken.json()), fields("error"));
    let path = format!("/api/folders/{}", daily["id"]);
    assert_eq!(world.send("PATCH", &path, &json!({"name": "Daily"})).await.ok(200), daily);
    let renamed = world.send("PATCH", &path, &json!({"name": "Hourly"})).await.ok(200);
    assert_eq!(renamed, json!({"id": daily["id"], "name": "Hourly", "order": 0}));
    world.send("PATCH", "/api/folders/999", &json!({"name": "X"})).await.error(404);
}

#[tokio::test]
async fn f6_folders_are_put_in_order() {
    let world = World::start().await;
    let mut ids = Vec::new();
    for name in ["a", "b", "c", "d"] {
        ids.push(world.folder(name).await["id"].clone());
    }
    let order = json!({"folderIds": [ids[2], ids[0]]});
    let folders = world.send("PATCH", "/api/folders/reorder", &order).await.ok(200);
    assert_eq!(world.folder_names().await, ["c", "a", "b", "d"]);
    assert_eq!(folders, world.get("/api/folders").await);
    for (bad, status) in [(json!([ids[0], 999]), 404), (json!([ids[0], ids[0]]), 400)] {
        let refused = world.send("PATCH", "/api/folders/reorder", &json!({ "folderIds": bad })).await;
        assert!(refused.error(status).contains("`folderIds`"));
    }
    assert_eq!(world.folder_names().await, ["c", "a", "b", "d"]);
}

#[tokio::test]
async fn f6_a_folder_goes_and_its_feeds_stay() {
    let world = World::start().await;
    let folder = world.folder("Daily").await;
    let url = world.publish("/feed.xml", &rss("News", 1));
    let feed = world.add(&json!({"url": url, "folderId": folder["id"]})).await.ok(201);
    let path = format!("/api/folders/{}", folder["id"]);
    assert_eq!(world.server.call("DELETE", &path).await.status, 204);
    assert_eq!(world.server.call("DELETE", &path).await.error(404), "there is no such folder");
    let kept = world.get(&format!("/api/feeds/{}", feed["id"])).await;
    assert_eq!(kept["folderId"], Value::Null);
}
