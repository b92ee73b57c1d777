//! What packages and images are made of: files that are there, names that agree, settings that the program takes
//! (requirement P1). Whether they can be built, only a builder says.

use std::{
    collections::BTreeMap,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use crate::{program::stderr, server::Place};

const COMPOSE_FILES: [&str; 2] = ["compose.yaml", "compose.postgres.yaml"];

/// What stands in compose files for what whoever starts them gives.
const GIVEN: &str = "reader.example.org";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn packaging(file: &str) -> String {
    fs::read_to_string(root().join("packaging").join(file)).unwrap()
}

/// What stands behind a key of a compose file, wherever it has one.
fn values<'t>(text: &'t str, key: &str) -> Vec<&'t str> {
    text.lines().filter_map(|line| line.trim_start().strip_prefix(key)?.strip_prefix(": ")).collect()
}

/// What stands between these, wherever there is such a pair.
fn between<'t>(text: &'t str, before: &str, after: char) -> Vec<&'t str> {
    text.split(before).skip(1).filter_map(|rest| Some(rest.split_once(after)?.0)).collect()
}

#[test]
fn p1_image_is_built_from_what_is_there() {
    let dockerfile = packaging("Dockerfile");
    let (mut sources, mut stages) = (0, 0);
    for copied in dockerfile.lines().filter_map(|line| line.strip_prefix("COPY ")) {
        if let Some((stage, _)) = copied.strip_prefix("--from=").and_then(|rest| rest.split_once(' ')) {
            assert!(dockerfile.contains(&format!(" AS {stage}\n")), "{stage}");
            stages += 1;
            continue;
        }
        let (from, _) = copied.rsplit_once(' ').unwrap();
        for source in from.split(' ') {
            assert!(root().join(source).exists(), "{source}");
            sources += 1;
        }
    }
    assert!(sources > 0 && stages > 0);
    // The builder sees all of it.
    let ignored = fs::read_to_string(root().join(".dockerignore")).unwrap();
    for needed in ["Cargo.toml", "Cargo.lock", "crates", "fuzz"] {
        assert!(root().join(needed).exists(), "{needed}");
        assert!(!ignored.lines().any(|line| line.trim_matches(['/', '*']) == needed), "{needed}");
    }
}

#[test]
fn p1_compose_files_name_what_is_there() {
    let folder = root().join("packaging/compose");
    for name in COMPOSE_FILES {
        let text = packaging(&format!("compose/{name}"));
        let (context, dockerfile) = (values(&text, "context"), values(&text, "dockerfile"));
        assert!(!context.is_empty() && context.len() == dockerfile.len(), "{name}");
        for (context, dockerfile) in context.iter().zip(dockerfile) {
            assert!(folder.join(context).join(dockerfile).is_file(), "{name}: {context}: {dockerfile}");
        }
        for mounted in between(&text, "- ./", ':') {
            assert!(folder.join(mounted).is_file(), "{name}: {mounted}");
        }
        let (_, secrets) = text.split_once("\nsecrets:\n").unwrap();
        let secrets = secrets.split("\n\n").next().unwrap();
        for secret in text.lines().filter_map(|line| line.split_once("/run/secrets/")).map(|(_, secret)| secret) {
            assert!(secrets.lines().any(|line| line.trim() == format!("{secret}:")), "{name}: {secret}");
        }
        // The files of secrets are made by whoever starts it, as the head says.
        let made: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix('#')?.split_once(" >")?.1.split(' ').next()).collect();
        let files = between(secrets, ":-./", '}');
        assert!(!files.is_empty(), "{name}");
        for file in files {
            assert!(made.iter().any(|made| Path::new(made).ends_with(file)), "{name}: {file}: {made:?}");
        }
    }
}

#[test]
fn p1_proxy_hands_on_to_services_that_are_there() {
    let (caddyfile, compose) = (packaging("compose/Caddyfile"), packaging("compose/compose.postgres.yaml"));
    let listen = settings_in(&packaging("Dockerfile"))["PIRSSONITE_LISTEN"].parse::<SocketAddr>().unwrap();
    let is_service = |name: &str| compose.contains(&format!("\n  {name}:\n"));
    let nodes = caddyfile.lines().find_map(|line| line.trim().strip_prefix("reverse_proxy ")).unwrap();
    let nodes: Vec<&str> = nodes.trim_end_matches('{').split_whitespace().collect();
    assert_eq!(nodes.len(), 2);
    for node in nodes {
        let (service, port) = node.split_once(':').unwrap();
        assert!(is_service(service), "{service}");
        assert_eq!(port.parse::<u16>().unwrap(), listen.port());
    }
    for variable in between(&caddyfile, "{$", '}') {
        assert!(!values(&compose, variable).is_empty(), "{variable}");
    }
    let url = &settings_in(&compose)["PIRSSONITE_DATABASE_URL"];
    let (_, host) = url.rsplit_once('@').unwrap();
    assert!(is_service(host.split('/').next().unwrap()), "{url}");
}

/// The settings that a file gives a container, also those that it only proposes: `NAME=value` in a Dockerfile,
/// `NAME: value` in a compose file.
fn settings_in(text: &str) -> BTreeMap<String, String> {
    let mut settings = BTreeMap::new();
    for line in text.lines().map(|line| line.trim_start_matches(['#', ' '])) {
        let in_yaml = line.split_once(": ").filter(|(name, _)| !name.contains(' '));
        let in_line = line.split(' ').filter_map(|word| word.split_once('='));
        let given = in_yaml.into_iter().chain(in_line).filter(|(name, _)| name.starts_with("PIRSSONITE_"));
        settings.extend(given.map(|(name, value)| (name.to_owned(), filled(value))));
    }
    settings
}

/// A value with something for each `${...}`.
fn filled(value: &str) -> String {
    let mut filled = value.to_owned();
    for variable in between(value, "${", '}') {
        filled = filled.replace(&format!("${{{variable}}}"), GIVEN);
    }
    filled
}

/// Has the program read these variables, and then ask a server that is not there.
fn read_settings(place: &Place, variables: &BTreeMap<String, String>) -> Output {
    let listen = place.url();
    let mut command = Command::new(env!("CARGO_BIN_EXE_pirssonite"));
    command.args(["healthcheck", "--listen", listen.trim_start_matches("http://")]).envs(variables);
    command.output().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn p1_program_takes_the_settings_of_containers() {
    let (secrets, place) = (tempfile::tempdir().unwrap(), Place::reserve());
    fs::write(secrets.path().join("password"), "correct-horse").unwrap();
    let image = settings_in(&packaging("Dockerfile"));
    for name in COMPOSE_FILES {
        let mut settings = image.clone();
        settings.extend(settings_in(&packaging(&format!("compose/{name}"))));
        assert!(settings.len() > image.len() + 1, "{name}: {settings:?}");
        for value in settings.values_mut() {
            *value = value.replace("/run/secrets", secrets.path().to_str().unwrap());
        }
        let read = read_settings(&place, &settings);
        assert!(stderr(&read).contains("no server answers"), "{name}: {}", stderr(&read));
        // One that is misspelt would be told of.
        settings.insert("PIRSSONITE_LISTN".to_owned(), String::new());
        let read = read_settings(&place, &settings);
        assert!(stderr(&read).contains("PIRSSONITE_LISTN"), "{name}: {}", stderr(&read));
    }
}

#[test]
fn p1_release_packs_files_that_are_there() {
    let script = fs::read_to_string(root().join("scripts/release")).unwrap();
    let is_of_path = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let packed: Vec<&str> = script
        .split(|c: char| !is_of_path(c))
        .filter(|word| word.starts_with("packaging/") && !word.ends_with('/'))
        .collect();
    assert!(packed.len() > 8, "{packed:?}");
    for file in packed {
        assert!(root().join(file).is_file(), "{file}");
    }
}
