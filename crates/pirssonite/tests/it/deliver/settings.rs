//! A lease that beats cannot keep stops the start (FR-003, requirements D5, U4).

use crate::{
    program::{on, stderr},
    server::Data,
};

#[test]
fn fr_003_d5_short_lease_stops_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let ended = on(Data::Folder(folder.path()), &["serve", "--listen", "127.0.0.1:0", "--delivery-lease", "100ms"]);
    let said = stderr(&ended);
    assert_eq!(ended.status.code(), Some(2), "{said}");
    for expect in ["--delivery-lease", "100", "too short"] {
        assert!(said.contains(expect), "{expect}: {said}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "nothing was begun");
}
