//! Pictures on the disk of this node, so that a publisher is asked once. Bounded: the one used longest ago goes first. A
//! picture's file is named by the hash of its address and holds its bytes, so that nothing has to be kept beside it; what
//! was there at the start is found again.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};

use domain::ingest::Hash;

/// Files that are remembered: of the smallest pictures there could be more than there is memory for.
const FILES_MAX: usize = 100_000;

/// What a file that is being written is called, until it is whole.
const UNFINISHED: &str = "new";

#[derive(Debug)]
pub(super) struct PictureCache {
    folder: PathBuf,
    bytes_max: u64,
    index: Mutex<Index>,
}

/// What there is, by name and by use.
#[derive(Debug, Default)]
struct Index {
    files: HashMap<String, File>,
    by_use: BTreeMap<u64, String>,
    bytes: u64,
    uses: u64,
}

#[derive(Debug, Clone, Copy)]
struct File {
    bytes: u64,
    used: u64,
}

impl PictureCache {
    /// Pictures in a folder, which is made if need be, of so many bytes at most.
    pub(super) fn open(folder: &Path, bytes_max: u64) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let mut found: Vec<(SystemTime, String, u64)> = Vec::new();
        for file in fs::read_dir(folder)?.flatten() {
            let (Ok(name), Ok(metadata)) = (file.file_name().into_string(), file.metadata()) else { continue };
            if is_name(&name) && found.len() < FILES_MAX {
                found.push((metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH), name, metadata.len()));
            } else if name.ends_with(UNFINISHED) {
                let _ = fs::remove_file(file.path());
            }
        }
        found.sort();
        let cache = Self { folder: folder.to_owned(), bytes_max, index: Mutex::default() };
        for (_, name, bytes) in found {
            cache.note(&name, bytes);
        }
        Ok(cache)
    }

    /// The picture of an address, if it is here. Waits for the disk.
    pub(super) fn read(&self, url: &str) -> Option<Vec<u8>> {
        let name = name_of(url);
        self.lock().use_again(&name)?;
        let path = self.folder.join(&name);
        let bytes = fs::read(&path).ok();
        match &bytes {
            Some(_) => touch(&path),
            None => self.lock().forget(&name),
        }
        bytes
    }

    /// Keeps a picture; others go for it. Waits for the disk.
    pub(super) fn write(&self, url: &str, bytes: &[u8]) -> io::Result<()> {
        let size = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        if size > self.bytes_max {
            return Ok(());
        }
        let name = name_of(url);
        let unfinished = self.folder.join(format!("{name}.{UNFINISHED}"));
        fs::write(&unfinished, bytes)?;
        fs::rename(&unfinished, self.folder.join(&name))?;
        self.note(&name, size);
        Ok(())
    }

    /// One more file is here; those used longest ago go until all fit.
    fn note(&self, name: &str, bytes: u64) {
        let gone = {
            let mut index = self.lock();
            index.add(name, bytes);
            index.surplus(self.bytes_max)
        };
        for name in gone {
            let _ = fs::remove_file(self.folder.join(name));
        }
    }

    fn lock(&self) -> MutexGuard<'_, Index> {
        self.index.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Index {
    fn add(&mut self, name: &str, bytes: u64) {
        self.forget(name);
        self.uses += 1;
        self.files.insert(name.to_owned(), File { bytes, used: self.uses });
        self.by_use.insert(self.uses, name.to_owned());
        self.bytes += bytes;
    }

    fn use_again(&mut self, name: &str) -> Option<()> {
        let bytes = self.files.get(name)?.bytes;
        self.add(name, bytes);
        Some(())
    }

    fn forget(&mut self, name: &str) {
        if let Some(File { bytes, used }) = self.files.remove(name) {
            self.by_use.remove(&used);
            self.bytes -= bytes;
        }
    }

    /// Those that are too many, forgotten.
    fn surplus(&mut self, bytes_max: u64) -> Vec<String> {
        let mut gone = Vec::new();
        while self.bytes > bytes_max || self.files.len() > FILES_MAX {
            let Some((_, name)) = self.by_use.first_key_value() else { break };
            let name = name.clone();
            self.forget(&name);
            gone.push(name);
        }
        gone
    }
}

/// Once it is used, it is young: also after a restart.
#[expect(clippy::disallowed_methods, reason = "the age of a file is by the clock of its disk")]
fn touch(path: &Path) {
    let now = SystemTime::now();
    drop(fs::File::options().write(true).open(path).and_then(|file| file.set_modified(now)));
}

fn name_of(url: &str) -> String {
    Hash::of(url.as_bytes()).0.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_name(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn u8_the_picture_used_longest_ago_goes() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PictureCache::open(folder.path(), 10).unwrap();
        cache.write("a", b"aaaa").unwrap();
        cache.write("b", b"bbbb").unwrap();
        assert_eq!(cache.read("a").as_deref(), Some(&b"aaaa"[..]));
        cache.write("c", b"cccc").unwrap();
        assert_eq!((cache.read("b"), cache.read("a").is_some(), cache.read("c").is_some()), (None, true, true));
        assert_eq!(names(folder.path()), 2);
        cache.write("large", &[0; 11]).unwrap();
        assert_eq!((cache.read("large"), names(folder.path())), (None, 2), "one that fits nowhere costs no other");
    }

    #[test]
    fn u8_pictures_survive_a_restart_and_stay_bounded() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PictureCache::open(folder.path(), 100).unwrap();
        for name in ["a", "b", "c"] {
            cache.write(name, &[1; 30]).unwrap();
        }
        fs::write(folder.path().join("0123.new"), b"half").unwrap();
        fs::write(folder.path().join("notes.txt"), b"of a person").unwrap();
        drop(cache);
        let cache = PictureCache::open(folder.path(), 70).unwrap();
        assert_eq!(["a", "b", "c"].iter().filter(|name| cache.read(name).is_some()).count(), 2);
        assert_eq!(names(folder.path()), 3, "two pictures, and what is none of ours");
    }

    #[test]
    fn u8_a_picture_that_somebody_removed_is_not_there() {
        let folder = tempfile::tempdir().unwrap();
        let cache = PictureCache::open(folder.path(), 100).unwrap();
        cache.write("a", b"aaaa").unwrap();
        fs::remove_file(folder.path().join(name_of("a"))).unwrap();
        assert_eq!((cache.read("a"), cache.lock().bytes), (None, 0));
    }
}
