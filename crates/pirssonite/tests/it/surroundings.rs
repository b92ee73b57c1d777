//! What a server is started in and told by others: variables of container platforms, signals, names (requirements U4,
//! U6, U8).

use reqwest::{StatusCode, header};

use crate::server::{Data, Server, client};

/// As Kubernetes sets them for a service called `pirssonite`.
const PLATFORM: &str = "export PIRSSONITE_PORT=tcp://10.0.0.7:3000 PIRSSONITE_SERVICE_HOST=10.0.0.7 \
                        PIRSSONITE_SERVICE_PORT=3000 PIRSSONITE_SERVICE_PORT_HTTP=3000 \
                        PIRSSONITE_PORT_3000_TCP_ADDR=10.0.0.7";

#[tokio::test(flavor = "multi_thread")]
async fn u4_variables_of_container_platforms_do_not_stop_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_after(PLATFORM, Data::Folder(folder.path()));
    server.get("/healthz").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn u6_sighup_does_not_end_a_server() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(Data::Folder(folder.path()), &[]);
    server.signal("-HUP");
    server.signal("-HUP");
    server.get("/healthz").await;
    let (status, log) = server.terminate();
    assert!(status.success(), "{status}: {log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn u7_public_server_answers_only_own_names() {
    let folder = tempfile::tempdir().unwrap();
    let flags = ["--no-auth", "--base-url", "https://reader.example"];
    let server = Server::start_on("0.0.0.0:0", Data::Folder(folder.path()), &flags);
    let port = server.address().port();
    for (host, expect) in [
        (format!("127.0.0.1:{port}"), StatusCode::OK),
        ("192.168.1.7".to_owned(), StatusCode::OK),
        ("reader.example".to_owned(), StatusCode::OK),
        (format!("evil.example:{port}"), StatusCode::MISDIRECTED_REQUEST),
    ] {
        let request = client().get(format!("http://127.0.0.1:{port}/api/feeds")).header(header::HOST, &host);
        assert_eq!(request.send().await.unwrap().status(), expect, "{host}");
    }
}
