//! Settings: read once from flags, variables and a file, checked as a whole, and passed on. A wrong one stops the start
//! and says which it is, where it stands, and why.

mod delivery;
mod file;
mod first_password;
mod platform;
mod table;
#[cfg(test)]
mod tests;
mod value;

use std::{collections::BTreeMap, net::SocketAddr, num::NonZeroU32, path::PathBuf, time::Duration};

use clap::{Arg, ArgAction, ArgMatches};
use domain::account::token_hash;
use domain::push::{Algorithm, KnownHub};
use engine::DeliverySettings;
use url::Url;

use self::{
    first_password::PASSWORD_VARIABLE,
    table::{Setting, TABLE},
    value::{algorithms, duration, known_hubs, parse_number, parts, public_url, switch, web_url},
};
pub(crate) use self::{
    first_password::{password_in, without_line_end},
    value::{ago, duration_from, later},
};

/// The file's flag and variable.
const FILE_FLAG: &str = "config";
const FILE_VARIABLE: &str = "PIRSSONITE_CONFIG";

/// Variables of this prefix that are none of the settings: the first password, and those of the tests.
const OTHER_VARIABLES: [&str; 4] = [FILE_VARIABLE, PASSWORD_VARIABLE, "PIRSSONITE_CORPUS", "PIRSSONITE_TEST_"];

/// What can be set of the demo.
const DEMO_SETTINGS: [&str; 3] = ["listen", "log", "log_format"];

/// Pushes in a minute for one feed: more than any machine takes.
const RATE_MAX: u32 = 1_000_000;

/// How to say what is logged.
const LOG_WAYS: &str =
    "write error, warn, info, debug, trace or off, for all or for parts of the program, as in info,engine=debug";

/// What this node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    All,
    Web,
    Worker,
}

/// The settings in force.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) no_auth: bool,
    pub(crate) trusted_proxies: Vec<ipnet::IpNet>,
    pub(crate) auth_proxy_header: Option<web::HeaderName>,
    /// What the commands come in with.
    pub(crate) token: Option<Secret>,
    /// The reader's, with the first start.
    pub(crate) first_password: Option<Secret>,
    pub(crate) role: Role,
    pub(crate) data_dir: PathBuf,
    pub(crate) database_url: Option<Secret>,
    pub(crate) database_connections: usize,
    pub(crate) base_url: Option<Url>,
    pub(crate) allow_networks: Vec<ipnet::IpNet>,
    pub(crate) proxy: Option<Url>,
    pub(crate) poll_min: Duration,
    pub(crate) poll_max: Duration,
    pub(crate) host_concurrency: usize,
    pub(crate) poll_concurrency: usize,
    pub(crate) renew_before: Duration,
    /// In seconds, as hubs are asked for it.
    pub(crate) hub_lease: Option<u32>,
    /// Zero for never.
    pub(crate) push_audit: Duration,
    pub(crate) push_may_take: Duration,
    pub(crate) push_algorithms: Vec<Algorithm>,
    pub(crate) push_rate: NonZeroU32,
    pub(crate) known_hubs: Vec<KnownHub>,
    pub(crate) delivery: DeliverySettings,
    pub(crate) feed_icons: bool,
    pub(crate) image_proxy: bool,
    pub(crate) image_cache_mb: u32,
    pub(crate) prune_after: Duration,
    /// None for never.
    pub(crate) prune_unread_after: Option<Duration>,
    pub(crate) prune_beyond: u32,
    pub(crate) log: String,
    pub(crate) log_format: LogFormat,
    pub(crate) otlp_endpoint: Option<Url>,
}

/// How it is logged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// A value that is shown nowhere.
#[derive(Clone)]
pub(crate) struct Secret(pub(crate) String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("(secret)")
    }
}

/// Why the settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingsError {
    #[error("{origin}: {value} is no {name}: {why}")]
    Value { name: String, origin: String, value: String, why: String },
    #[error("{origin}: there is no setting {name}")]
    Unknown { name: String, origin: String },
    #[error("{file}: {why}")]
    File { file: String, why: String },
    #[error("{0}")]
    Together(String),
}

/// The flags of all settings, for any command that needs them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Flags {
    values: BTreeMap<&'static str, String>,
    file: Option<PathBuf>,
}

impl Flags {
    /// Whether a flag sets this.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }
}

impl clap::FromArgMatches for Flags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut flags = Self::default();
        flags.update_from_arg_matches(matches)?;
        Ok(flags)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        for setting in &TABLE {
            if let Some(value) = matches.get_one::<String>(setting.name) {
                self.values.insert(setting.name, value.clone());
            }
        }
        if let Some(file) = matches.get_one::<PathBuf>(FILE_FLAG) {
            self.file = Some(file.clone());
        }
        Ok(())
    }
}

impl clap::Args for Flags {
    fn augment_args(command: clap::Command) -> clap::Command {
        let file = Arg::new(FILE_FLAG)
            .long(FILE_FLAG)
            .value_name("FILE")
            .value_parser(clap::value_parser!(PathBuf))
            .global(true)
            .hide_short_help(true)
            .help("The file with the settings [default: pirssonite.toml, if it is there]");
        TABLE
            .iter()
            .fold(command.next_help_heading("Settings").arg(file), |command, setting| command.arg(flag_of(setting)))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

fn flag_of(setting: &'static Setting) -> Arg {
    let shown = if setting.default.is_empty() { String::new() } else { format!(" [default: {}]", setting.default) };
    let flag = Arg::new(setting.name)
        .long(setting.flag())
        .global(true)
        .hide_short_help(true)
        .action(ArgAction::Set)
        .help(format!("{}{shown}", setting.help));
    if setting.value_name.is_empty() {
        // A switch may stand alone.
        return flag.value_name("true|false").num_args(0..=1).default_missing_value("true").require_equals(true);
    }
    flag.value_name(setting.value_name)
}

/// A value as written, and where.
#[derive(Debug, Clone)]
struct Raw {
    value: String,
    origin: String,
}

impl Settings {
    /// Reads the settings from flags, from variables and from the file, in this order.
    pub(crate) fn read(flags: &Flags) -> Result<Self, SettingsError> {
        Self::read_from(
            flags,
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )
    }

    /// Those of the demo: what these flags say of where it listens and what it logs, and else the defaults, whatever
    /// variables and file say. Its errors are all that it logs if it is not told otherwise.
    pub(crate) fn of_demo(flags: &Flags) -> Result<Self, SettingsError> {
        let other = TABLE.iter().find(|setting| flags.sets(setting.name) && !DEMO_SETTINGS.contains(&setting.name));
        if let Some(name) = other.map(Setting::flag).or_else(|| flags.file.as_ref().map(|_| FILE_FLAG.to_owned())) {
            return Err(SettingsError::Together(format!("the demo has settings of its own: leave out --{name}")));
        }
        let given = |setting: &Setting| {
            let value = flags.values.get(setting.name).cloned();
            let raw = |value| Raw { value, origin: format!("the flag --{}", setting.flag()) };
            Some((setting.name, raw(value.or_else(|| (setting.name == "log").then(|| "error".to_owned()))?)))
        };
        Self::check(&TABLE.iter().filter_map(given).collect())
    }

    /// Where hubs reach this server, with or without a slash at its end the same; without it push is off.
    pub(crate) fn hubs_reach_us_at(&self) -> Option<String> {
        self.base_url.as_ref().map(|url| url.as_str().trim_end_matches('/').to_owned())
    }

    fn read_from(flags: &Flags, variables: impl Iterator<Item = (String, String)>) -> Result<Self, SettingsError> {
        let variables: BTreeMap<String, String> =
            variables.filter(|(name, _)| name.starts_with("PIRSSONITE_")).collect();
        let named = flags.file.clone().or_else(|| variables.get(FILE_VARIABLE).map(PathBuf::from));
        let mut raw = file::read(named.as_deref())?;
        for (name, value) in &variables {
            match TABLE.iter().find(|setting| setting.variable() == *name) {
                Some(setting) => {
                    raw.insert(setting.name, Raw { value: value.clone(), origin: format!("the variable {name}") });
                }
                None if OTHER_VARIABLES.iter().any(|other| name.starts_with(other)) => {}
                None if platform::is_set_by_platform(name, value) => {}
                None => {
                    return Err(SettingsError::Unknown { name: name.clone(), origin: "the environment".to_owned() });
                }
            }
        }
        for setting in TABLE.iter().filter(|setting| flags.values.contains_key(setting.name)) {
            let value = flags.values[setting.name].clone();
            raw.insert(setting.name, Raw { value, origin: format!("the flag --{}", setting.flag()) });
        }
        let first_password = first_password::read(&variables)?;
        Ok(Self { first_password, ..Self::check(&raw)? })
    }

    fn check(raw: &BTreeMap<&'static str, Raw>) -> Result<Self, SettingsError> {
        let settings = Self {
            listen: get(raw, "listen", |text| {
                text.parse().map_err(|_| "write an address and a port, such as 127.0.0.1:3000".to_owned())
            })?,
            no_auth: get(raw, "no_auth", switch)?,
            trusted_proxies: get(raw, "trusted_proxies", networks)?,
            auth_proxy_header: get(raw, "auth_proxy_header", |text| optional(text, header_name))?,
            token: get(raw, "token", |text| optional(text, token))?,
            first_password: None,
            role: get(raw, "role", |text| match text {
                "all" => Ok(Role::All),
                "web" => Ok(Role::Web),
                "worker" => Ok(Role::Worker),
                _ => Err("write all, web or worker".to_owned()),
            })?,
            data_dir: get(raw, "data_dir", folder)?,
            database_url: get(raw, "database_url", |text| optional(text, database_url))?,
            database_connections: get(raw, "database_connections", |text| parse_number(text, 2, 500))?,
            base_url: get(raw, "base_url", |text| optional(text, public_url))?,
            allow_networks: get(raw, "allow_networks", networks)?,
            proxy: get(raw, "proxy", |text| optional(text, web_url))?,
            poll_min: get(raw, "poll_min", a_second_or_more)?,
            poll_max: get(raw, "poll_max", a_second_or_more)?,
            host_concurrency: get(raw, "host_concurrency", |text| parse_number(text, 1, 64))?,
            poll_concurrency: get(raw, "poll_concurrency", |text| parse_number(text, 1, 1024))?,
            renew_before: get(raw, "renew_before", a_second_or_more)?,
            hub_lease: get(raw, "hub_lease", |text| optional(text, lease_secs))?,
            push_audit: get(raw, "push_audit", audit)?,
            push_may_take: get(raw, "push_may_take", a_second_or_more)?,
            push_algorithms: get(raw, "push_algorithms", algorithms)?,
            push_rate: get(raw, "push_rate", rate)?,
            known_hubs: get(raw, "known_hubs", known_hubs)?,
            delivery: delivery::read(raw)?,
            feed_icons: get(raw, "feed_icons", switch)?,
            image_proxy: get(raw, "image_proxy", switch)?,
            image_cache_mb: get(raw, "image_cache_mb", |text| parse_number(text, 16, 1_000_000))?,
            prune_after: get(raw, "prune_after", a_second_or_more)?,
            prune_unread_after: get(raw, "prune_unread_after", prune_age)?,
            prune_beyond: get(raw, "prune_beyond", |text| text.parse().map_err(|_| "write a number".to_owned()))?,
            log: get(raw, "log", |text| {
                let filter = tracing_subscriber::EnvFilter::try_new(text);
                filter.map(|_| text.to_owned()).map_err(|_| LOG_WAYS.to_owned())
            })?,
            log_format: get(raw, "log_format", |text| match text {
                "text" => Ok(LogFormat::Text),
                "json" => Ok(LogFormat::Json),
                _ => Err("write text or json".to_owned()),
            })?,
            otlp_endpoint: get(raw, "otlp_endpoint", |text| optional(text, web_url))?,
        };
        settings.check_together()?;
        Ok(settings)
    }

    /// What each value alone cannot show.
    fn check_together(&self) -> Result<(), SettingsError> {
        if self.poll_min > self.poll_max {
            return Err(SettingsError::Together("poll_min is longer than poll_max".to_owned()));
        }
        if self.delivery.retry.first > self.delivery.retry.max {
            return Err(SettingsError::Together("retry_first is longer than retry_max".to_owned()));
        }
        if self.delivery.breaker.probe_first > self.delivery.breaker.probe_max {
            return Err(SettingsError::Together("probe_first is longer than probe_max".to_owned()));
        }
        if self.role != Role::All && self.database_url.is_none() {
            return Err(SettingsError::Together(
                "role is not all, but there is no database_url: one process alone uses the embedded database, and must do everything".to_owned(),
            ));
        }
        if self.auth_proxy_header.is_some() && self.trusted_proxies.is_empty() {
            return Err(SettingsError::Together(
                "auth_proxy_header is set, but there are no trusted_proxies whose word would be taken".to_owned(),
            ));
        }
        Ok(())
    }

    /// That nobody is let in who should not be: a server that others can reach needs a password, or to be told that it
    /// needs none. A worker serves nobody.
    pub(crate) fn check_reach(&self, has_passwords: bool) -> Result<(), SettingsError> {
        if has_passwords || self.no_auth || self.role == Role::Worker || self.listen.ip().is_loopback() {
            return Ok(());
        }
        Err(SettingsError::Together(format!(
            "listen is {}, which others can reach, and no account has a password: set one with `pirssonite account \
             password`, or start it once with PIRSSONITE_PASSWORD_FILE or PIRSSONITE_PASSWORD; or serve on a loopback \
             address such as 127.0.0.1:3000; or say --no-auth, and whoever reaches it can read and change everything",
            self.listen
        )))
    }
}

/// The value of a setting, or its default, made into what it means.
fn get<T>(
    raw: &BTreeMap<&'static str, Raw>,
    name: &'static str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<T, SettingsError> {
    let setting = TABLE.iter().find(|setting| setting.name == name).expect("every setting is in the table");
    let default = Raw { value: setting.default.to_owned(), origin: "the default".to_owned() };
    let Raw { value, origin } = raw.get(name).unwrap_or(&default);
    read(value.trim()).map_err(|why| SettingsError::Value {
        name: name.to_owned(),
        origin: origin.clone(),
        // A URL may hold a password.
        value: if setting.is_secret || value.contains('@') { "what it says".to_owned() } else { format!("{value:?}") },
        why,
    })
}

fn optional<T>(text: &str, read: impl Fn(&str) -> Result<T, String>) -> Result<Option<T>, String> {
    if text.is_empty() { Ok(None) } else { read(text).map(Some) }
}

fn a_second_or_more(text: &str) -> Result<Duration, String> {
    duration_from(text, Duration::from_secs(1), "a second")
}

/// A lease, in seconds. One of seconds would be renewed all the time.
fn lease_secs(text: &str) -> Result<u32, String> {
    let lease = duration_from(text, Duration::from_mins(1), "a minute")?;
    u32::try_from(lease.as_secs()).map_err(|_| "longer than any hub can count".to_owned())
}

/// How often, or never.
fn audit(text: &str) -> Result<Duration, String> {
    if text == "0" || duration(text)?.is_zero() {
        return Ok(Duration::ZERO);
    }
    duration_from(text, Duration::from_mins(1), "a minute").map_err(|why| format!("{why}, or 0 for never"))
}

/// After how long, or never.
fn prune_age(text: &str) -> Result<Option<Duration>, String> {
    if text == "0" || duration(text)?.is_zero() {
        return Ok(None);
    }
    a_second_or_more(text).map(Some).map_err(|why| format!("{why}, or 0 for never"))
}

fn rate(text: &str) -> Result<NonZeroU32, String> {
    let rate = NonZeroU32::new(parse_number(text, 1, RATE_MAX)?);
    rate.ok_or_else(|| "write a number".to_owned())
}

/// A folder that is there, or one that can be made.
fn folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if text.is_empty() {
        return Err("write a folder".to_owned());
    }
    if path.exists() && !path.is_dir() {
        return Err("it is a file, and a folder is wanted, in which the database is pirssonite.db".to_owned());
    }
    Ok(path)
}

fn database_url(text: &str) -> Result<Secret, String> {
    let is_postgres = text.starts_with("postgres://") || text.starts_with("postgresql://");
    if is_postgres {
        Ok(Secret(text.to_owned()))
    } else {
        Err("write it as postgres://user:password@host/name".to_owned())
    }
}

fn header_name(text: &str) -> Result<web::HeaderName, String> {
    text.parse().map_err(|_| "write the name of a header, such as Remote-User".to_owned())
}

fn token(text: &str) -> Result<Secret, String> {
    match token_hash(text) {
        Some(_) => Ok(Secret(text.to_owned())),
        None => Err("a token begins with pir_ and has 47 characters".to_owned()),
    }
}

fn networks(text: &str) -> Result<Vec<ipnet::IpNet>, String> {
    parts(text)
        .map(|part| {
            let address = part.parse::<std::net::IpAddr>().map(ipnet::IpNet::from);
            part.parse().or(address).map_err(|_| format!("{part} is no network such as 192.168.0.0/16"))
        })
        .collect()
}
