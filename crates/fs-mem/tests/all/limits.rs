//! Bytes, holes, and what happens when there is no more room.

use vfs::{Context, Error, FileSystem, OpenMode, Space, Stability};

use crate::shell::Shell;

fn space(shell: &Shell) -> Space {
    shell.0.space(&Context::ROOT, &shell.0.root()).unwrap()
}

#[test]
fn read_past_eof_returns_no_bytes() {
    let shell = Shell::new();
    shell.create("x").unwrap();
    shell.write("x", 0, b"abc").unwrap();
    assert_eq!(shell.read("x", 1, 100).unwrap(), b"bc");
    assert_eq!(shell.read("x", 3, 100).unwrap(), b"");
    assert_eq!(shell.read("x", u64::MAX, 100).unwrap(), b"");
}

#[test]
fn sparse_file_of_5_gib_costs_only_what_was_written() {
    let shell = Shell::with_capacity(1 << 20, 10);
    shell.create("x").unwrap();
    let far = (5 << 30) - 3;
    shell.write("x", far, b"end").unwrap();
    let attributes = shell.stat("x").unwrap();
    assert_eq!((attributes.size_bytes, attributes.used_bytes), (5 << 30, 4096));
    assert_eq!(shell.read("x", far - 2, 10).unwrap(), b"\0\0end");
    assert_eq!(shell.read("x", 1 << 32, 5).unwrap(), [0; 5]);
}

#[test]
fn full_file_system_writes_what_fits_then_refuses_and_keeps_what_it_acknowledged() {
    let shell = Shell::with_capacity(3 * 4096, 10);
    shell.create("x").unwrap();
    assert_eq!(shell.write("x", 0, &[1; 5000]).unwrap(), 5000);
    assert_eq!(shell.write("x", 5000, &[2; 20_000]).unwrap(), 3 * 4096 - 5000);
    assert!(matches!(shell.write("x", 3 * 4096, &[3; 1]), Err(Error::NoSpace)));
    let bytes = shell.read("x", 0, 20_000).unwrap();
    assert_eq!(bytes.len(), 3 * 4096);
    assert!(bytes[..5000].iter().all(|&byte| byte == 1) && bytes[5000..].iter().all(|&byte| byte == 2));
    assert_eq!(space(&shell).free_bytes, 0);
    assert_eq!(shell.write("x", 100, &[4; 4096]).unwrap(), 4096, "overwriting needs no room");
    shell.resize("x", 0).unwrap();
    assert_eq!(space(&shell).free_bytes, 3 * 4096);
}

#[test]
fn unlinked_file_keeps_its_room_until_it_is_closed() {
    let shell = Shell::with_capacity(4096, 10);
    let handle = shell.create("x").unwrap();
    shell.write("x", 0, b"a").unwrap();
    let file = shell.0.open(&Context::ROOT, &handle, OpenMode::Read).unwrap();
    shell.remove("x").unwrap();
    shell.create("y").unwrap();
    assert!(matches!(shell.write("y", 0, b"a"), Err(Error::NoSpace)));
    drop(file);
    assert_eq!(shell.write("y", 0, b"a").unwrap(), 1);
}

#[test]
fn every_name_counts_as_a_file() {
    let shell = Shell::with_capacity(1 << 20, 4);
    shell.create("x").unwrap();
    shell.link("x", "y").unwrap();
    shell.mkdir("d").unwrap();
    assert!(matches!(shell.create("z"), Err(Error::NoSpace)));
    assert!(matches!(shell.link("x", "z"), Err(Error::NoSpace)));
    assert_eq!(shell.stat("x").unwrap().links, 2);
    shell.remove("y").unwrap();
    assert_eq!(space(&shell).free_files, 1);
    shell.create("y").unwrap();
    shell.rename("y", "x").unwrap();
    assert_eq!(space(&shell).free_files, 1);
    shell.rmdir("d").unwrap();
    shell.remove("x").unwrap();
    assert_eq!(space(&shell).free_files, 3);
}

#[test]
fn target_of_a_symlink_takes_room() {
    let shell = Shell::with_capacity(10, 10);
    shell.symlink("a", b"123456").unwrap();
    assert!(matches!(shell.symlink("b", b"12345"), Err(Error::NoSpace)));
    assert_eq!(space(&shell).free_files, 8);
    shell.remove("a").unwrap();
    shell.symlink("b", b"12345").unwrap();
}

#[test]
fn file_with_65000_names_gets_no_further_one() {
    let shell = Shell::new();
    shell.create("0").unwrap();
    for number in 1..65_000 {
        shell.link("0", &number.to_string()).unwrap();
    }
    assert!(matches!(shell.link("0", "more"), Err(Error::TooManyLinks)));
    assert!(matches!(shell.stat("more"), Err(Error::NoEntry)));
}

#[test]
fn file_opened_for_reading_is_not_written() {
    let shell = Shell::new();
    let handle = shell.create("x").unwrap();
    let file = shell.0.open(&Context::ROOT, &handle, OpenMode::Read).unwrap();
    assert!(matches!(file.write_at(&Context::ROOT, 0, b"a", Stability::File), Err(Error::AccessDenied)));
    assert!(file.sync(&Context::ROOT).is_ok());
}

#[test]
fn file_cannot_get_larger_than_properties_say() {
    let shell = Shell::new();
    shell.create("x").unwrap();
    let largest = shell.0.properties().max_file_bytes;
    assert!(matches!(shell.resize("x", largest + 1), Err(Error::FileTooBig)));
    assert!(matches!(shell.write("x", largest, b"a"), Err(Error::FileTooBig)));
    assert_eq!(shell.stat("x").unwrap().size_bytes, 0);
    assert_eq!(shell.resize("x", largest).unwrap().size_bytes, largest);
}
