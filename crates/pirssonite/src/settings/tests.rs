//! That settings are read from where they are written, and wrong ones named.

use std::path::Path;

use clap::{Args, FromArgMatches};

use super::*;

fn read(flags: &[&str], variables: &[(&str, &str)]) -> Result<Settings, SettingsError> {
    let command = Flags::augment_args(clap::Command::new("test"));
    let matches = command.try_get_matches_from(["test"].iter().chain(flags)).unwrap();
    let flags = Flags::from_arg_matches(&matches).unwrap();
    Settings::read_from(&flags, variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())))
}

impl Settings {
    /// As these flags set them.
    pub(crate) fn of_flags(flags: &[&str]) -> Self {
        read(flags, &[]).unwrap()
    }
}

#[test]
fn u4_defaults_are_loopback_and_sqlite() {
    let settings = read(&[], &[]).unwrap();
    assert_eq!(settings.listen.to_string(), "127.0.0.1:3000");
    assert_eq!(settings.data_dir, Path::new("data"));
    assert!(settings.database_url.is_none() && settings.role == Role::All);
    assert_eq!(settings.database_connections, store::PostgresOptions::default().pool_size);
    assert_eq!(
        (settings.poll_min, settings.poll_max, settings.host_concurrency),
        (Duration::from_mins(15), Duration::from_hours(24), 2)
    );
}

#[test]
fn u4_flags_before_variables_before_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    std::fs::write(
        &file,
        "poll_min = \"20m\"\npoll_max = \"5h\"\nhost_concurrency = 3\nallow_networks = [\"10.0.0.0/8\", \"::1\"]\n",
    )
    .unwrap();
    let config = format!("--config={}", file.display());
    let settings =
        read(&[&config, "--poll-min", "30m"], &[("PIRSSONITE_POLL_MIN", "25m"), ("PIRSSONITE_POLL_MAX", "6h")])
            .unwrap();
    assert_eq!(settings.poll_min, Duration::from_mins(30));
    assert_eq!(settings.poll_max, Duration::from_hours(6));
    assert_eq!(settings.host_concurrency, 3);
    assert_eq!(settings.allow_networks.len(), 2);
}

#[test]
fn u4_wrong_setting_is_named_with_reason() {
    let check = |flags: &[&str], variables: &[(&str, &str)], expect: &[&str]| {
        let wrong = read(flags, variables).unwrap_err().to_string();
        assert!(expect.iter().all(|part| wrong.contains(part)), "{wrong}");
    };
    check(&["--poll-min", "soon"], &[], &["--poll-min", "\"soon\"", "10s"]);
    check(&[], &[("PIRSSONITE_ROLE", "king")], &["PIRSSONITE_ROLE", "king", "worker"]);
    check(&[], &[("PIRSSONITE_POLL_MINIMUM", "1m")], &["PIRSSONITE_POLL_MINIMUM", "no setting"]);
    check(&["--poll-min", "2d"], &[], &["poll_min", "poll_max"]);
    for flag in ["--base-url", "--proxy"] {
        check(&[flag, "nope"], &[], &[flag, ": it does not begin with http:// or https://"]);
        check(&[flag, "example.org:80"], &[], &[flag, "it does not begin with http:// or https://"]);
        check(&[flag, "https://"], &[], &[flag, "such as https://example.org"]);
        check(&[flag, "http://e.org:port/"], &[], &[flag, "such as https://example.org"]);
    }
    check(&["--known-hubs", "https://e.org/=https://"], &[], &["no hub such as https://example.org"]);
    check(&["--log", "info,engine=loud"], &[], &["--log", "write error, warn, info"]);
    check(&["--allow-networks", "10.0.0.0/8,localhost"], &[], &["localhost"]);
    check(&["--host-concurrency", "0"], &[], &["1 to 64"]);
    check(&["--database-connections", "501"], &[], &["2 to 500"]);
    check(&[], &[("PIRSSONITE_DATABASE_CONNECTIONS", "1")], &["PIRSSONITE_DATABASE_CONNECTIONS", "2 to 500"]);
    check(&["--config", "/no/such/file"], &[], &["/no/such/file"]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    for (text, expect) in [("pol_min = \"1m\"", "pol_min"), ("poll_min = 1.5", "poll_min"), ("poll_min = ", "x.toml")] {
        std::fs::write(&file, text).unwrap();
        check(&["--config", file.to_str().unwrap()], &[], &["x.toml", expect]);
    }
}

#[test]
fn u4_unreadable_line_is_named_not_shown() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    for (text, expect) in [
        ("poll_min=\"5m", "x.toml: line 1, which sets poll_min, cannot be read: write"),
        ("poll_min=\"5m\n", "x.toml: line 1, which sets poll_min, cannot be read: write"),
        ("# Mine\nlog = \"info\"\npoll_min = 5m\nrole = \"all\"\n", "x.toml: line 3, which sets poll_min, cannot"),
        (
            "role = \"all\"\ndatabase_url = postgres://u:hunter2@h/d\n",
            "x.toml: line 2, which sets database_url, cannot",
        ),
        ("role = \"all\"\n\nrole = \"all\"\n", "x.toml: line 3 sets role once more"),
        ("role = \"all\"\nhunter2\n", "x.toml: line 2 cannot be read: write"),
        ("allow_networks = [\"10.0.0.0/8\"\n", "x.toml: line 1, which sets allow_networks, cannot"),
    ] {
        std::fs::write(&file, text).unwrap();
        let wrong = read(&["--config", file.to_str().unwrap()], &[]).unwrap_err().to_string();
        assert!(wrong.contains(expect) && !wrong.contains("hunter2"), "{text:?}: {wrong}");
    }
}

#[test]
fn u4_push_defaults_match_engine() {
    let (settings, push) = (read(&[], &[]).unwrap(), engine::PushSettings::default());
    assert_eq!((settings.base_url, push.base_url), (None, None));
    assert_eq!(settings.renew_before, push.rules.renew_before);
    assert_eq!((settings.hub_lease, settings.push_audit), (push.lease_secs, push.audit));
    assert_eq!(settings.push_may_take, push.push_may_take);
    assert_eq!((settings.push_algorithms, settings.known_hubs), (push.algorithms, push.known_hubs));
    assert_eq!(settings.push_rate, web::WebSettings::default().pushes_per_minute);
}

#[test]
fn f7_unread_pruning_is_a_setting() {
    let usual = engine::EngineSettings::default().prune;
    let settings = read(&[], &[]).unwrap();
    assert_eq!((settings.prune_after, settings.prune_unread_after), (usual.read_older_than, usual.unread_older_than));
    assert_eq!(read(&["--prune-unread-after", "0"], &[]).unwrap().prune_unread_after, None);
    assert_eq!(read(&["--prune-unread-after", "0s"], &[]).unwrap().prune_unread_after, None);
    let month = read(&[], &[("PIRSSONITE_PRUNE_UNREAD_AFTER", "30d")]).unwrap();
    assert_eq!(month.prune_unread_after, Some(Duration::from_hours(30 * 24)));
    assert!(read(&["--prune-unread-after", "x"], &[]).is_err());
}

#[test]
fn u4_push_settings_from_all_sources() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    let text = "push_audit = 0\npush_rate = 60\nhub_lease = \"1h\"\n\
                known_hubs = [\"https://a.org/=https://h.org/\", \"https://b.org/=https://h.org/\"]\n";
    std::fs::write(&file, text).unwrap();
    let config = format!("--config={}", file.display());
    let flags = [&config, "--base-url", "https://reader.example.org", "--renew-before", "12h"];
    let settings = read(&flags, &[("PIRSSONITE_HUB_LEASE", "5d"), ("PIRSSONITE_PUSH_ALGORITHMS", "sha512")]).unwrap();
    assert_eq!(settings.hubs_reach_us_at().as_deref(), Some("https://reader.example.org"));
    let with_slash = read(&["--base-url", "https://reader.example.org/x/"], &[]).unwrap();
    assert_eq!(with_slash.hubs_reach_us_at().as_deref(), Some("https://reader.example.org/x"));
    assert_eq!(settings.renew_before, Duration::from_hours(12));
    assert_eq!((settings.hub_lease, settings.push_audit), (Some(432_000), Duration::ZERO));
    assert_eq!((settings.push_algorithms, settings.push_rate.get()), (vec![Algorithm::Sha512], 60));
    assert_eq!(settings.known_hubs.len(), 2);
    assert!(read(&["--known-hubs", "", "--push-audit", "6h"], &[]).unwrap().known_hubs.is_empty());
}

#[test]
fn u4_wrong_push_setting_is_named() {
    for (flag, value, expect) in [
        ("--base-url", "https://e.org/?a=b", "without ? and #"),
        ("--base-url", "ftp://e.org/", "http://"),
        ("--base-url", "https://me:pw@e.org/", "without a user"),
        ("--renew-before", "0s", "a second or more"),
        ("--renew-before", "2 days", "unit"),
        ("--hub-lease", "30s", "a minute or more"),
        ("--hub-lease", "0", "unit"),
        ("--push-audit", "1s", "or 0 for never"),
        ("--push-algorithms", "sha256,md5", "md5"),
        ("--push-algorithms", "", "at least one"),
        ("--push-rate", "0", "from 1"),
        ("--known-hubs", "https://e.org/", "pair"),
    ] {
        let wrong = read(&[flag, value], &[]).unwrap_err().to_string();
        assert!(wrong.contains(flag) && wrong.contains(expect), "{wrong}");
    }
}

#[test]
fn u4_delivery_defaults_match_engine() {
    let settings = read(&[], &[]).unwrap();
    assert_eq!(format!("{:?}", settings.delivery), format!("{:?}", engine::DeliverySettings::default()));
}

#[test]
fn u4_delivery_settings_from_all_sources() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    let text = "delivery_lease = \"600ms\"\nretry_jitter = 0.5\nretry_budget = 3\nwebhook_concurrency = 1\n";
    std::fs::write(&file, text).unwrap();
    let config = format!("--config={}", file.display());
    let flags = [&config, "--retry-first", "50ms", "--retry-max", "50ms", "--delivery-concurrency", "10000"];
    let variables = [("PIRSSONITE_DELIVERY_TIMEOUT", "5m"), ("PIRSSONITE_RETRY_ATTEMPTS", "1")];
    let delivery = read(&flags, &variables).unwrap().delivery;
    assert_eq!((delivery.lease.length(), delivery.timeout), (Duration::from_millis(600), Duration::from_mins(5)));
    assert_eq!((delivery.concurrency, delivery.webhook_concurrency), (10_000, 1));
    let fifty = Duration::from_millis(50);
    let retry = domain::delivery::RetryRules { first: fifty, max: fifty, attempts: 1, jitter: 0.5, budget: 3 };
    assert_eq!(delivery.retry, retry);
    let jitter = |text| read(&["--retry-jitter", text], &[]).unwrap().delivery.retry.jitter;
    assert!((jitter("20%") - 0.2).abs() < f64::EPSILON && jitter("0") == 0.0 && (jitter("100%") - 1.0).abs() == 0.0);
}

#[test]
fn u4_d9_d11_breaker_settings_from_all_sources() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    std::fs::write(&file, "breaker_failures = 3\nprobe_first = \"2s\"\nkeep_delivered = \"1d\"\n").unwrap();
    let config = format!("--config={}", file.display());
    let flags = [&config, "--disable-after", "12h", "--keep-failed", "2d", "--retry-max", "1h"];
    let variables = [("PIRSSONITE_PROBE_MAX", "30s"), ("PIRSSONITE_BREAKER_FAILURES", "4")];
    let delivery = read(&flags, &variables).unwrap().delivery;
    let breaker = domain::delivery::BreakerRules {
        open_after: 4,
        probe_first: Duration::from_secs(2),
        probe_max: Duration::from_secs(30),
        disable_after: Duration::from_hours(12),
        retry_max: Duration::from_hours(1),
    };
    assert_eq!(delivery.breaker, breaker);
    let limits = delivery.limits;
    assert_eq!(limits.delivered_older_than, Duration::from_hours(24));
    assert_eq!(limits.failed_older_than, Duration::from_hours(48));
    assert_eq!(limits.chunk, engine::DeliverySettings::default().limits.chunk, "no setting");
}

#[test]
fn fr_003_d5_u4_short_lease_is_refused() {
    for lease in ["0s", "1ms", "100ms"] {
        let wrong = read(&[], &[("PIRSSONITE_DELIVERY_LEASE", lease)]).unwrap_err().to_string();
        for expect in ["PIRSSONITE_DELIVERY_LEASE", "is no delivery_lease", "ms is too short", "every 100 ms"] {
            assert!(wrong.contains(expect), "{lease}: {wrong}");
        }
    }
    assert_eq!(read(&["--delivery-lease", "101ms"], &[]).unwrap().delivery.lease.length(), Duration::from_millis(101));
}

#[test]
fn u4_wrong_delivery_setting_is_named() {
    for (flag, value, expect) in [
        ("--delivery-lease", "10", "unit"),
        ("--delivery-timeout", "0s", "a millisecond or more"),
        ("--delivery-timeout", "301s", "5m or less"),
        ("--delivery-concurrency", "0", "from 1 to 10000"),
        ("--webhook-concurrency", "10001", "from 1 to 10000"),
        ("--retry-first", "0ms", "a millisecond or more"),
        ("--retry-max", "0d", "a millisecond or more"),
        ("--retry-attempts", "0", "from 1 to 100"),
        ("--retry-jitter", "1.5", "from 0 to 1"),
        ("--retry-jitter", "20", "0% to 100%"),
        ("--retry-budget", "-1", "from 0"),
        ("--breaker-failures", "0", "from 1 to 10000"),
        ("--probe-first", "0s", "a millisecond or more"),
        ("--probe-max", "soon", "10s"),
        ("--disable-after", "0d", "a millisecond or more"),
        ("--keep-delivered", "0s", "a millisecond or more"),
        ("--keep-failed", "0s", "a millisecond or more"),
    ] {
        let given = format!("{flag}={value}");
        let wrong = read(&[&given], &[]).unwrap_err().to_string();
        assert!(wrong.contains(flag) && wrong.contains(expect), "{wrong}");
    }
    let wrong = read(&["--retry-first", "7h"], &[]).unwrap_err().to_string();
    assert_eq!(wrong, "retry_first is longer than retry_max");
    let wrong = read(&["--probe-first", "61s"], &[]).unwrap_err().to_string();
    assert_eq!(wrong, "probe_first is longer than probe_max");
}

#[test]
fn u4_secrets_are_not_shown() {
    let wrong = read(&["--database-url", "mysql://u:hunter2@h/d"], &[]).unwrap_err().to_string();
    assert!(wrong.contains("database_url") && !wrong.contains("hunter2"), "{wrong}");
    let settings = read(&["--database-url", "postgres://u:hunter2@h/d"], &[]).unwrap();
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[test]
fn a3_u7_public_address_needs_a_password_or_no_auth() {
    for (flags, has_passwords, expect) in [
        (&["--listen", "0.0.0.0:3000"][..], false, false),
        (&["--listen", "0.0.0.0:3000"], true, true),
        (&["--listen", "0.0.0.0:3000", "--no-auth"], false, true),
        (&["--listen", "[::1]:3000"], false, true),
        (&["--listen", "0.0.0.0:3000", "--role", "web", "--database-url", "postgres://h/d"], false, false),
        (&["--listen", "0.0.0.0:3000", "--role", "worker", "--database-url", "postgres://h/d"], false, true),
    ] {
        let checked = read(flags, &[]).unwrap().check_reach(has_passwords);
        assert_eq!(checked.is_ok(), expect, "{flags:?}");
        let wrong = checked.err().map_or(String::new(), |error| error.to_string());
        let ways = ["pirssonite account password", "PIRSSONITE_PASSWORD_FILE", "127.0.0.1:3000", "--no-auth"];
        assert!(expect || ways.iter().all(|way| wrong.contains(way)), "{wrong}");
    }
}

#[test]
fn a3_first_password_from_a_variable_or_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    };
    let (lf, crlf) = (file("lf", "correct horse\n"), file("crlf", "correct horse\r\n"));
    let (blank, short, none) =
        (file("blank", " correct horse \n\n"), file("short", "short\n"), "/nowhere/x".to_owned());
    for (variables, expect) in [
        (vec![], Ok(None)),
        (vec![("PIRSSONITE_PASSWORD", "")], Ok(None)),
        (vec![("PIRSSONITE_PASSWORD", "correct horse")], Ok(Some("correct horse"))),
        (vec![("PIRSSONITE_PASSWORD_FILE", &*lf)], Ok(Some("correct horse"))),
        (vec![("PIRSSONITE_PASSWORD_FILE", &*crlf)], Ok(Some("correct horse"))),
        (vec![("PIRSSONITE_PASSWORD_FILE", &*blank)], Ok(Some(" correct horse \n"))),
        (vec![("PIRSSONITE_PASSWORD", "short")], Err("PIRSSONITE_PASSWORD: a password has at least 8")),
        (vec![("PIRSSONITE_PASSWORD_FILE", &*short)], Err("PIRSSONITE_PASSWORD_FILE: a password has at least 8")),
        (vec![("PIRSSONITE_PASSWORD_FILE", &*none)], Err("/nowhere/x")),
        (vec![("PIRSSONITE_PASSWORD", "correct horse"), ("PIRSSONITE_PASSWORD_FILE", &*lf)], Err("both set")),
    ] {
        match (read(&[], &variables), expect) {
            (Ok(settings), Ok(expect)) => {
                assert!(!format!("{settings:?}").contains("horse"), "it is shown nowhere");
                assert_eq!(settings.first_password.map(|secret| secret.0).as_deref(), expect, "{variables:?}");
            }
            (Err(wrong), Err(expect)) => assert!(wrong.to_string().contains(expect), "{wrong}"),
            (got, _) => panic!("{variables:?}: {got:?}"),
        }
    }
}

#[test]
fn a4_a5_proxies_and_token_are_read_and_checked() {
    let flags = ["--trusted-proxies", "127.0.0.1,10.0.0.0/8", "--auth-proxy-header", "Remote-User"];
    let settings = read(&flags, &[]).unwrap();
    assert_eq!(settings.trusted_proxies.len(), 2);
    assert_eq!(settings.auth_proxy_header.unwrap(), "remote-user");
    for (flags, expect) in [
        (&["--auth-proxy-header", "Remote-User"][..], "trusted_proxies"),
        (&["--auth-proxy-header", "Remote User"], "name of a header"),
        (&["--trusted-proxies", "caddy"], "no network"),
        (&["--token", "secret"], "begins with pir_"),
    ] {
        let wrong = read(flags, &[]).unwrap_err().to_string();
        assert!(wrong.contains(expect) && !wrong.contains("secret"), "{wrong}");
    }
    let token = format!("pir_{}", "x".repeat(43));
    let settings = read(&[], &[("PIRSSONITE_TOKEN", &token)]).unwrap();
    assert!(settings.token.is_some() && !format!("{settings:?}").contains("xxx"));
}

#[test]
fn u4_the_default_file_agrees_with_the_table() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../pirssonite.default.toml");
    if std::env::var_os("UPDATE_FIXTURES").is_some() {
        std::fs::write(file, table::default_file()).unwrap();
    }
    assert_eq!(std::fs::read_to_string(file).unwrap(), table::default_file());
    // Taken at its word, it changes nothing.
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("x.toml");
    let uncommented: String = table::default_file()
        .lines()
        .map(|line| line.strip_prefix("# ").filter(|rest| rest.contains(" = ")).unwrap_or(line))
        .map(|line| format!("{line}\n"))
        .collect();
    std::fs::write(&copy, uncommented).unwrap();
    let config = format!("--config={}", copy.display());
    assert_eq!(format!("{:?}", read(&[&config], &[]).unwrap()), format!("{:?}", read(&[], &[]).unwrap()));
}
