//! The demo's data folder: a temporary one of its own, which goes when the demo ends. What a demo that was killed has left
//! is removed by the next.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, bail};
use domain::push;
use engine::SystemIds;

/// What the folders of demos are called, before some random letters.
const PREFIX: &str = "pirssonite-demo-";

/// The file in it that is locked for as long as its demo runs, however that ends.
const LOCK: &str = "demo.lock";

/// Its owner's alone.
const MODE: u32 = 0o700;

/// How often another name is tried.
const NAMES_MAX: u32 = 5;

/// How often and how far apart it is tried to remove a folder into which something may still be written.
const REMOVALS_MAX: u32 = 20;
const REMOVAL_WAIT: Duration = Duration::from_millis(100);

/// A folder that is this demo's. It goes with it.
#[derive(Debug)]
pub(super) struct DemoFolder {
    path: PathBuf,
    _lock: File,
}

impl DemoFolder {
    /// Makes one among the temporary files.
    pub(super) fn make() -> anyhow::Result<Self> {
        Self::make_in(&std::env::temp_dir())
    }

    fn make_in(parent: &Path) -> anyhow::Result<Self> {
        for _ in 0..NAMES_MAX {
            let name = push::new_token(&SystemIds);
            let path = parent.join(format!("{PREFIX}{}", &name[..12]));
            DirBuilder::new()
                .mode(MODE)
                .create(&path)
                .with_context(|| format!("cannot make a folder in {}: set TMPDIR to another", parent.display()))?;
            let lock = OpenOptions::new().write(true).create_new(true).open(path.join(LOCK))?;
            // Between these two another demo may have taken it for one that was left behind.
            if lock.try_lock().is_ok() && path.join(LOCK).exists() {
                return Ok(Self { path, _lock: lock });
            }
        }
        bail!("cannot make a folder in {}: start the demo again", parent.display())
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it with all that is in it.
    pub(super) fn remove(&self) -> io::Result<()> {
        remove(&self.path)
    }
}

impl Drop for DemoFolder {
    fn drop(&mut self) {
        // It may be gone already.
        let _ = remove(&self.path);
    }
}

/// Removes what demos have left that were killed.
pub(super) fn remove_leftovers() {
    remove_leftovers_in(&std::env::temp_dir());
}

fn remove_leftovers_in(parent: &Path) {
    let Ok(found) = fs::read_dir(parent) else { return };
    for entry in found.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX)) {
        // Held until the folder is gone: a demo that is just being started takes another then.
        if let Some(_lock) = lock_of_leftover(&entry.path()) {
            let _ = remove(&entry.path());
        }
    }
}

/// The lock of a folder of ours whose demo is gone, because then nobody holds it. A link is none, nor is another user's.
fn lock_of_leftover(path: &Path) -> Option<File> {
    let metadata = fs::symlink_metadata(path).ok()?;
    let is_ours = metadata.is_dir() && metadata.uid() == rustix::process::getuid().as_raw();
    let lock = File::open(path.join(LOCK)).ok().filter(|_| is_ours)?;
    lock.try_lock().is_ok().then_some(lock)
}

fn remove(path: &Path) -> io::Result<()> {
    for _ in 1..REMOVALS_MAX {
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => std::thread::sleep(REMOVAL_WAIT),
            _ => return Ok(()),
        }
    }
    fs::remove_dir_all(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn u5_demo_folder_goes_and_leftovers_of_killed_demos_too() {
        let parent = tempfile::tempdir().unwrap();
        let running = DemoFolder::make_in(parent.path()).unwrap();
        fs::write(running.path().join("pirssonite.db"), "x").unwrap();
        assert_eq!(fs::metadata(running.path()).unwrap().mode() & 0o777, 0o700);
        // As a killed demo leaves it; one that has no lock is nobody's; a link leads elsewhere.
        let killed = parent.path().join("pirssonite-demo-killed");
        fs::create_dir(&killed).unwrap();
        fs::write(killed.join(LOCK), "").unwrap();
        fs::write(killed.join("pirssonite.db"), "x").unwrap();
        let foreign = parent.path().join("pirssonite-demo-notes");
        fs::create_dir(&foreign).unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::write(elsewhere.path().join(LOCK), "").unwrap();
        symlink(elsewhere.path(), parent.path().join("pirssonite-demo-link")).unwrap();

        remove_leftovers_in(parent.path());
        assert!(!killed.exists() && foreign.exists() && elsewhere.path().join(LOCK).exists());
        assert!(running.path().join("pirssonite.db").exists(), "it runs");
        let path = running.path().to_owned();
        drop(running);
        assert!(!path.exists());
    }
}
