//! Pictures that are fetched in the place of browsers.

use std::sync::Arc;

use domain::{account::READER, raster::RasterKind};
use engine::{
    NoPicture, PictureSettings, Pictures,
    http::{ClientSettings, GuardedClient},
};
use testkit::{Page, Publisher};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x20\0\0\0\x20\x08\x06\0\0\0";

struct Scene {
    pictures: Arc<Pictures>,
    publisher: Publisher,
    _folder: tempfile::TempDir,
}

async fn scene() -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let allow_networks = vec!["127.0.0.0/8".parse().unwrap()];
    let http = GuardedClient::new(ClientSettings { allow_networks, ..ClientSettings::default() }).unwrap();
    let settings = PictureSettings { folder: folder.path().join("pictures"), cache_bytes_max: 1_000_000 };
    let pictures = Pictures::open(Arc::new(http), "key", &settings).unwrap();
    Scene { pictures, publisher: Publisher::start().await, _folder: folder }
}

#[tokio::test]
async fn u8_a_picture_is_fetched_once() {
    let scene = scene().await;
    scene.publisher.set("/a", Page::body(PNG).header("content-type", "text/plain"));
    for _ in 0..2 {
        let picture = scene.pictures.get(READER, &scene.publisher.url("/a")).await.unwrap();
        assert_eq!((picture.kind, picture.bytes.as_slice()), (RasterKind::Png, PNG));
    }
    let requests = scene.publisher.requests("/a");
    assert_eq!(requests.len(), 1);
    assert_eq!((requests[0].header("referer"), requests[0].header("cookie")), (None, None));
}

#[tokio::test]
async fn u8_only_raster_pictures_are_passed_on() {
    let scene = scene().await;
    scene
        .publisher
        .set("/svg", Page::body("<svg xmlns='http://www.w3.org/2000/svg'/>").header("content-type", "image/png"));
    scene.publisher.set("/html", Page::body("<script>alert(1)</script>").header("content-type", "image/png"));
    scene.publisher.set("/broken", Page::status(500));
    for (path, expect) in [
        ("/svg", NoPicture::NotThere),
        ("/html", NoPicture::NotThere),
        ("/gone", NoPicture::NotThere),
        ("/broken", NoPicture::Unreachable),
    ] {
        for _ in 0..2 {
            assert_eq!(scene.pictures.get(READER, &scene.publisher.url(path)).await, Err(expect), "{path}");
        }
        assert_eq!(scene.publisher.requests(path).len(), 1, "{path} is not asked again at once");
    }
}

#[tokio::test]
async fn u8_private_addresses_are_not_asked_for_pictures() {
    let scene = scene().await;
    for url in ["http://10.0.0.1/a.png", "http://[::1]/a.png", "file:///etc/passwd", "nonsense"] {
        assert_eq!(scene.pictures.get(READER, url).await, Err(NoPicture::NotThere), "{url}");
    }
}

#[tokio::test]
async fn u8_few_pictures_are_fetched_at_once() {
    let scene = scene().await;
    scene.publisher.set_fallback(|_| Page::body(PNG));
    let asked: Vec<_> = (0..20)
        .map(|number| {
            let (pictures, url) = (Arc::clone(&scene.pictures), scene.publisher.url(&format!("/{number}")));
            tokio::spawn(async move { pictures.get(READER, &url).await })
        })
        .collect();
    for picture in asked {
        assert!(picture.await.unwrap().is_ok());
    }
    assert!(scene.publisher.concurrency_max() <= 6, "{}", scene.publisher.concurrency_max());
}
