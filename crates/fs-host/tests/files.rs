//! Files: bytes, sizes, modes, and the errors of what is no file.

mod support;

use support::*;
use vfs::{CreateMode, Error, FileSystem, SetAttributes};

#[test]
fn written_bytes_are_read_back() {
    for export in [Export::on_disk(), Export::in_memory()] {
        for form in forms() {
            let fs = export.open(form);
            let file = fs.create(&CX, at(&fs.root(), "a"), CreateMode::Unchecked, &SetAttributes::default()).unwrap();
            write(&fs, &file.handle, b"hello");
            assert_eq!(read(&fs, &file.handle), b"hello");
            assert_eq!(fs.lookup(&CX, at(&fs.root(), "a")).unwrap().handle, file.handle);
            assert_eq!(fs.attributes(&CX, &file.handle).unwrap().size_bytes, 5);
            assert_eq!(list_all(&fs, &fs.root()).len(), 1);
        }
    }
}

#[test]
fn directory_is_not_opened_as_a_file() {
    let export = Export::on_disk();
    for form in forms() {
        let fs = export.open(form);
        assert!(matches!(fs.open(&CX, &fs.root(), vfs::OpenMode::Read), Err(Error::IsDirectory)));
    }
}
