//! Every setting by name, with its default and what it is for. Flags, variables, the file and the documents follow from
//! this one table.

#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    /// As the file has it: `base_url`. The flag is `--base-url`, the variable `PIRSSONITE_BASE_URL`.
    pub(crate) name: &'static str,
    /// As one would write it.
    pub(crate) default: &'static str,
    /// What it is for.
    pub(crate) help: &'static str,
    /// What stands for its value in the help; empty for a switch.
    pub(crate) value_name: &'static str,
    /// Its value is shown nowhere.
    pub(crate) is_secret: bool,
}

const fn setting(name: &'static str, value_name: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting { name, default, help, value_name, is_secret: false }
}

const fn secret(name: &'static str, value_name: &'static str, default: &'static str, help: &'static str) -> Setting {
    Setting { is_secret: true, ..setting(name, value_name, default, help) }
}

/// All settings, in the order of the default file.
pub(crate) const TABLE: [Setting; 47] = [
    setting(
        "listen",
        "ADDRESS",
        "127.0.0.1:3000",
        "The address and port to serve on. Any but a loopback address needs a password (`pirssonite account password`), or no_auth.",
    ),
    setting(
        "no_auth",
        "",
        "false",
        "Serve without a login on an address that others can reach, as long as no account has a password. Whoever reaches it can read and change everything.",
    ),
    setting(
        "trusted_proxies",
        "CIDRS",
        "",
        "Proxies in front of this server, as addresses or networks separated by commas: 127.0.0.1, 10.0.0.0/8. Their X-Forwarded-For and X-Forwarded-Proto say who asks, and how; nobody else's do.",
    ),
    setting(
        "auth_proxy_header",
        "NAME",
        "",
        "The header in which a trusted proxy names the account that it has logged in, such as Remote-User. It needs trusted_proxies, and the proxy must remove the header from what clients send.",
    ),
    secret(
        "token",
        "TOKEN",
        "",
        "What the commands come in with (`pirssonite token add`), to act for its account. Without it they use the running server's own, which is in the data folder.",
    ),
    setting(
        "role",
        "ROLE",
        "all",
        "What this node does: all, web (only serve) or worker (poll and deliver, and serve nobody). Any but all needs database_url.",
    ),
    setting("data_dir", "FOLDER", "data", "The folder of the embedded database. One process at a time uses it."),
    secret(
        "database_url",
        "URL",
        "",
        "A PostgreSQL database (postgres://user:password@host/name) instead of the embedded one. Any number of nodes may share it.",
    ),
    setting(
        "database_connections",
        "NUMBER",
        "10",
        "Connections to that database, at most, that a node has for its work, from 2 to 500: searches and counts have half of them. It has four more, for renewing leases, for readiness and for hearing of other nodes. All nodes together must stay below max_connections of the database.",
    ),
    setting(
        "base_url",
        "URL",
        "",
        "The address under which others reach this server, such as https://reader.example.org, also through a proxy or a tunnel. It turns push on: hubs call this server there. Without it all feeds are polled. Every node of a database needs the same. The server refuses requests to any other host name but localhost, except those of hubs. Publishers see it too, as the address of whoever asks them.",
    ),
    setting(
        "allow_networks",
        "CIDRS",
        "",
        "Networks, separated by commas, that feeds, hubs and webhooks may be in although they are not public: 127.0.0.0/8, 192.168.0.0/16. None are by default, so that no feed can reach into the network of this server.",
    ),
    secret(
        "proxy",
        "URL",
        "",
        "An HTTP proxy for all requests. It resolves the names then; those that this server itself finds to be private are refused all the same, unless allow_networks allows them.",
    ),
    setting("poll_min", "DURATION", "15m", "The shortest time between two polls of a feed."),
    setting(
        "poll_max",
        "DURATION",
        "24h",
        "The longest time between two polls of a feed, also of one that fails, unless its server asks for more (up to a week) or the feed has an interval of its own.",
    ),
    setting("host_concurrency", "NUMBER", "2", "Requests to one host at once."),
    setting("poll_concurrency", "NUMBER", "64", "Feeds that are polled at once."),
    setting(
        "renew_before",
        "DURATION",
        "2d",
        "A push subscription is renewed so long before the end of its lease; one with a lease shorter than twice this, when half of it is gone.",
    ),
    setting(
        "hub_lease",
        "DURATION",
        "",
        "The lease that hubs are asked for. Without it they choose, which most do best.",
    ),
    setting(
        "push_audit",
        "DURATION",
        "1d",
        "How often a pushed feed is polled all the same, to see whether its hub has missed something. 0 turns it off.",
    ),
    setting(
        "push_may_take",
        "DURATION",
        "30m",
        "How long after its publication an entry may be pushed. One that such a poll finds later than that, and that was not pushed, counts as missed by the hub.",
    ),
    setting(
        "push_algorithms",
        "NAMES",
        "sha1,sha256,sha384,sha512",
        "How hubs may sign what they push, separated by commas. Google's hub, and so YouTube's feeds, knows only sha1.",
    ),
    setting(
        "push_rate",
        "NUMBER",
        "600",
        "Pushes that are taken in a minute for one feed. What is beyond that is refused, and the feed polled instead.",
    ),
    setting(
        "known_hubs",
        "PAIRS",
        "https://www.youtube.com/feeds/videos.xml=https://pubsubhubbub.appspot.com/",
        "Hubs of feeds that do not name theirs, separated by commas: what the feeds' URLs begin with, an equals sign, and the hub.",
    ),
    setting(
        "delivery_lease",
        "DURATION",
        "10s",
        "How long a delivery stays with a worker that gives no sign of life: after so long another takes it over. It is renewed every third of this, at least 100ms apart, so it must be longer than that, and at most 10m.",
    ),
    setting("delivery_timeout", "DURATION", "15s", "How long a webhook may take to answer. At most 5m."),
    setting(
        "delivery_concurrency",
        "NUMBER",
        "256",
        "Deliveries that are sent at once, besides one for each webhook, which it always has. Receivers that take over a quarter of a second have half of them at most.",
    ),
    setting(
        "webhook_concurrency",
        "NUMBER",
        "16",
        "Deliveries that are sent to one webhook at once, at most: it begins with 2, and has more with each success.",
    ),
    setting(
        "retry_first",
        "DURATION",
        "5s",
        "When a delivery that failed is tried again for the first time. Each further failure waits twice as long.",
    ),
    setting(
        "retry_max",
        "DURATION",
        "6h",
        "The longest wait between two attempts, also where a webhook asks for more.",
    ),
    setting(
        "retry_attempts",
        "NUMBER",
        "16",
        "Attempts that a delivery has before it has failed. With the other defaults they take about a day.",
    ),
    setting(
        "retry_jitter",
        "PART",
        "0.2",
        "The part of each wait that is left to chance, to both sides, so that what failed together is not tried together: 0 to 1, or 20%.",
    ),
    setting(
        "retry_budget",
        "NUMBER",
        "0",
        "Retries that are allowed, if fewer than retry_attempts says: in force at once, also for what waits already. 0 for no such limit.",
    ),
    setting(
        "breaker_failures",
        "NUMBER",
        "10",
        "Failures in a row after which a webhook is sent one request at a time, until one succeeds. What waits meanwhile uses up no attempts. Answers of 4xx (but 408, 425 and 429) speak of the event: they cost it an attempt and do not count.",
    ),
    setting(
        "probe_first",
        "DURATION",
        "5s",
        "The pause between two such requests that repeat an event; it is twice as long after each. An event that was never sent goes out within a second.",
    ),
    setting("probe_max", "DURATION", "1m", "The longest such pause."),
    setting(
        "disable_after",
        "DURATION",
        "5d",
        "A webhook that fails for so long is disabled, and the others are told. Days on which nothing was sent to it do not count.",
    ),
    setting(
        "keep_delivered",
        "DURATION",
        "7d",
        "How long deliveries that arrived, or were cancelled, are kept, and can be replayed.",
    ),
    setting(
        "keep_failed",
        "DURATION",
        "30d",
        "How long deliveries that were given up are kept, and can be queued again.",
    ),
    setting(
        "feed_icons",
        "",
        "true",
        "Look for the icons of feeds, weekly, at their sites. Browsers have them from this server.",
    ),
    setting(
        "image_proxy",
        "",
        "false",
        "Fetch the pictures in entries in the place of browsers, and keep them in the data folder: publishers do not learn then who reads what, and when. Without it browsers ask publishers.",
    ),
    setting(
        "image_cache_mb",
        "NUMBER",
        "256",
        "Megabytes of such pictures that a node keeps, from 16 to 1000000. Those used longest ago go first.",
    ),
    setting("prune_after", "DURATION", "180d", "Read entries go when they are older than this. Starred ones stay."),
    setting(
        "prune_unread_after",
        "DURATION",
        "365d",
        "Unread entries go when they are older than this; 0 for never. Starred ones stay.",
    ),
    setting(
        "prune_beyond",
        "NUMBER",
        "1000",
        "Read entries of a feed go beyond its newest so many. Starred and unread ones stay.",
    ),
    setting(
        "log",
        "FILTER",
        "info",
        "What is logged: error, warn, info, debug, trace, also by module, as in info,engine=debug.",
    ),
    setting("log_format", "FORMAT", "text", "How it is logged: text for people, json for programs."),
    secret(
        "otlp_endpoint",
        "URL",
        "",
        "A collector of OpenTelemetry, such as http://127.0.0.1:4318. Traces and metrics are sent there by OTLP over HTTP, in JSON: a push can be followed to the webhooks that heard of it. Nothing is by default.",
    ),
];

impl Setting {
    /// The variable that sets it.
    pub(crate) fn variable(&self) -> String {
        format!("PIRSSONITE_{}", self.name.to_ascii_uppercase())
    }

    /// The flag that sets it, without its dashes.
    pub(crate) fn flag(&self) -> String {
        self.name.replace('_', "-")
    }
}

/// The default file: every setting, commented out, with what it is for.
#[cfg(test)]
pub(crate) fn default_file() -> String {
    let mut file = String::from(
        "# The settings of piRSSonite, each with its default. Copy this file to pirssonite.toml, where it is looked for in the\n\
         # folder that the program is started in (or name another with --config), and take the # off what you change.\n\
         # A flag (--poll-min 30m) goes before a variable (PIRSSONITE_POLL_MIN=30m), and that before this file.\n\
         # Durations are written as 500ms, 10s, 15m, 6h or 2d.\n",
    );
    for setting in TABLE {
        file.push('\n');
        let mut line = String::from("#");
        for word in setting.help.split(' ') {
            if line.len() + word.len() + 1 > 118 {
                file += &line;
                file.push('\n');
                line = String::from("#");
            }
            line.push(' ');
            line += word;
        }
        file += &line;
        let bare = matches!(setting.default, "true" | "false") || setting.default.parse::<f64>().is_ok();
        let quote = if bare { "" } else { "\"" };
        file.extend(["\n# ", setting.name, " = ", quote, setting.default, quote, "\n"]);
    }
    file
}
