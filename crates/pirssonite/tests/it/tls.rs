//! Servers whose TLS handshake fails: a feed's and a webhook's error says so, and why.

use std::{
    io::Write,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    process::{Command, Output},
    sync::Arc,
    thread,
};

use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

use crate::{
    program::{made, stderr, stdout},
    server::Data,
};

/// What a server on loopback does with a connection.
#[derive(Clone)]
enum Behaviour {
    /// It has the certificate of this name.
    Certificate(&'static str),
    /// It answers without TLS.
    Plain,
    Close,
}

#[test]
fn f4_d8_a_failed_handshake_says_so_and_why() {
    for (behaviour, reason) in [
        (Behaviour::Certificate("self-signed"), "invalid peer certificate: UnknownIssuer"),
        (Behaviour::Certificate("expired"), "certificate expired"),
        (Behaviour::Certificate("wrong-name"), "certificate not valid for name \"localhost\""),
        (Behaviour::Plain, "the server does not speak TLS"),
        (Behaviour::Close, "the server closed the connection"),
    ] {
        let port = serve(behaviour);
        let expect = format!("could not connect to localhost:{port}: the TLS handshake failed: {reason}");
        let folder = tempfile::tempdir().unwrap();
        let data = Data::Folder(folder.path());
        let url = format!("https://localhost:{port}/");
        let added = said(&on(data, &["add", &url]), 1);
        assert!(added.contains(&expect), "{expect}: {added}");
        said(&on(data, &["webhook", "add", &url]), 0);
        let tested = said(&on(data, &["webhook", "test", "1"]), 1);
        assert!(tested.contains(&expect), "{expect}: {tested}");
    }
}

#[test]
fn f4_d8_a_certificate_that_this_system_trusts_is_taken() {
    let port = serve(Behaviour::Certificate("good"));
    let folder = tempfile::tempdir().unwrap();
    let data = made(folder.path());
    said(&on(data, &["webhook", "add", &format!("https://localhost:{port}/")]), 0);
    let tested = said(&on(data, &["webhook", "test", "1"]), 0);
    assert!(tested.contains("delivered: it answered 204"), "{tested}");
}

/// Runs a command on a system that trusts the CA of the fixtures, to its end.
fn on(data: Data<'_>, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pirssonite"));
    command.env("SSL_CERT_FILE", fixture("ca.pem")).env_remove("SSL_CERT_DIR");
    command.args(["--allow-networks", "127.0.0.0/8"]).args(data.flags()).args(arguments);
    command.output().expect("the program starts")
}

/// What a command printed.
fn said(output: &Output, code: i32) -> String {
    let said = format!("{}{}", stdout(output), stderr(output));
    assert_eq!(output.status.code(), Some(code), "{said}");
    said
}

/// Starts a server that ends with the tests; returns its port.
fn serve(behaviour: Behaviour) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for connection in listener.incoming() {
            answer(&behaviour, connection.unwrap());
        }
    });
    port
}

fn answer(behaviour: &Behaviour, mut connection: TcpStream) {
    // The client may hang up at any moment: that is what the test is about.
    match behaviour {
        Behaviour::Certificate(name) => {
            let tls = ServerConnection::new(config(name)).unwrap();
            let mut stream = StreamOwned::new(tls, connection);
            let mut request = [0; 4096];
            if std::io::Read::read(&mut stream, &mut request).is_ok_and(|read| read > 0) {
                let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n");
                stream.conn.send_close_notify();
                let _ = stream.flush();
            }
        }
        Behaviour::Plain => drop(connection.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")),
        Behaviour::Close => {
            // What was sent is read first: otherwise the system would reset the connection.
            let mut hello = [0; 4096];
            let _ = std::io::Read::read(&mut connection, &mut hello);
        }
    }
}

fn config(name: &str) -> Arc<ServerConfig> {
    let certificate = CertificateDer::from_pem_file(fixture(&format!("{name}.pem"))).unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    Arc::new(builder.with_no_client_auth().with_single_cert(vec![certificate], key).unwrap())
}

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tls").join(name)
}
