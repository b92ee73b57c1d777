//! The running server's own token: in the data folder, for the commands of whoever runs it and for nobody else.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

use super::remote::server_name;
use crate::settings::Settings;

/// Its owner reads and writes it, and nobody else does either.
const MODE: u32 = 0o600;

fn file(settings: &Settings) -> PathBuf {
    settings.data_dir.join(format!("{}-token", server_name(settings)))
}

/// Leaves the token, in a file that was never anybody else's to read.
pub(super) fn write(settings: &Settings, token: &str) -> io::Result<()> {
    let (file, new) = (file(settings), file(settings).with_extension("new"));
    remove_if_there(&new)?;
    let mut written = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&new)?;
    writeln!(written, "{token}")?;
    fs::rename(new, file)
}

/// Takes it away again. It is worth nothing without its server.
pub(super) fn remove(settings: &Settings) {
    let _ = fs::remove_file(file(settings));
}

/// The token, if it is there and may be read.
pub(super) fn read(settings: &Settings) -> Option<String> {
    let token = fs::read_to_string(file(settings)).ok()?;
    Some(token.trim().to_owned()).filter(|token| !token.is_empty())
}

fn remove_if_there(file: &PathBuf) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a5_server_token_is_private_and_one_per_database() {
        let folder = tempfile::tempdir().unwrap();
        let data = format!("--data-dir={}", folder.path().display());
        let settings = Settings::of_flags(&[&data]);
        let other = Settings::of_flags(&[&data, "--database-url", "postgres://h/d"]);
        fs::write(file(&settings).with_extension("new"), "left by a crash").unwrap();
        write(&settings, "pir_one").unwrap();
        write(&other, "pir_two").unwrap();
        write(&settings, "pir_three").unwrap();
        let mode = fs::metadata(file(&settings)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!((read(&settings).as_deref(), read(&other).as_deref()), (Some("pir_three"), Some("pir_two")));
        assert!(file(&settings).ends_with("server-token"));
        remove(&settings);
        assert_eq!((read(&settings), read(&other).as_deref()), (None, Some("pir_two")));
    }
}
