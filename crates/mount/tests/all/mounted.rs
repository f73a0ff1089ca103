//! File systems on real mounts: what programs see of them. Where nothing can be mounted, the tests say so.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::thread;

use fs_mem::{MemFs, MemOptions};
use mount::{Options, UnmountError, Validity};

use crate::support::{LONG, Site};

const O_TRUNC: i32 = rustix::fs::OFlags::TRUNC.bits().cast_signed();

fn memory() -> Arc<MemFs> {
    Arc::new(MemFs::new(MemOptions::default()))
}

fn site() -> Option<Site> {
    Site::new(memory(), Options::default())
}

#[test]
fn bytes_that_were_written_are_read_back_whole_and_in_parts() {
    let Some(site) = site() else { return };
    let data: Vec<u8> = (0..3_000_000_u32).map(|at| (at / 7) as u8).collect();
    fs::write(site.path("file"), &data).unwrap();
    assert!(fs::read(site.path("file")).unwrap() == data);
    let file = OpenOptions::new().read(true).write(true).open(site.path("file")).unwrap();
    file.write_all_at(b"changed", 1_234_567).unwrap();
    let mut part = [0; 11];
    file.read_exact_at(&mut part, 1_234_565).unwrap();
    assert_eq!(&part[2..9], b"changed");
    assert_eq!(part[..2], data[1_234_565..1_234_567]);
    file.set_len(10).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 10);
    drop(file);
    assert_eq!(fs::read(site.path("file")).unwrap(), data[..10]);
}

#[test]
fn directory_lists_every_name_once_with_its_kind_however_large_it_is() {
    let Some(site) = site() else { return };
    let dir = site.path("dir");
    fs::create_dir(&dir).unwrap();
    let names: BTreeSet<String> = (0..3000).map(|number| format!("{number:-<60}")).collect();
    names.iter().for_each(|name| drop(File::create(dir.join(name)).unwrap()));
    fs::create_dir(dir.join("below")).unwrap();
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(&dir).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        assert_eq!(entry.file_type().unwrap().is_dir(), name == "below");
        assert_eq!(entry.metadata().unwrap().ino(), fs::metadata(entry.path()).unwrap().ino());
        assert!(found.insert(name));
    }
    assert!(found.remove("below") && found == names);
}

#[test]
fn names_are_made_linked_moved_and_removed() {
    let Some(site) = site() else { return };
    fs::write(site.path("a"), b"x").unwrap();
    fs::hard_link(site.path("a"), site.path("b")).unwrap();
    assert_eq!(fs::metadata(site.path("a")).unwrap().nlink(), 2);
    fs::rename(site.path("a"), site.path("c")).unwrap();
    assert_eq!(fs::metadata(site.path("a")).unwrap_err().kind(), ErrorKind::NotFound);
    symlink("c", site.path("link")).unwrap();
    assert_eq!(fs::read(site.path("link")).unwrap(), b"x");
    assert_eq!(fs::read_link(site.path("link")).unwrap().as_os_str(), "c");
    fs::create_dir_all(site.path("d/e")).unwrap();
    assert_eq!(fs::remove_dir(site.path("d")).unwrap_err().kind(), ErrorKind::DirectoryNotEmpty);
    fs::remove_dir_all(site.path("d")).unwrap();
    fs::remove_file(site.path("b")).unwrap();
    assert_eq!(fs::metadata(site.path("c")).unwrap().nlink(), 1);
    let exclusive = OpenOptions::new().write(true).create_new(true).open(site.path("c"));
    assert_eq!(exclusive.unwrap_err().kind(), ErrorKind::AlreadyExists);
}

#[test]
fn attributes_are_set_and_shown() {
    let Some(site) = site() else { return };
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o640).open(site.path("f")).unwrap();
    file.write_all(&[1; 5000]).unwrap();
    let path = site.path("f");
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o640);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o4711)).unwrap();
    std::os::unix::fs::chown(&path, Some(12), Some(34)).unwrap();
    let time = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::new(1_000_000, 5);
    file.set_times(fs::FileTimes::new().set_modified(time)).unwrap();
    let metadata = fs::metadata(&path).unwrap();
    assert_eq!((metadata.uid(), metadata.gid(), metadata.len()), (12, 34, 5000));
    assert_eq!((metadata.mtime(), metadata.mtime_nsec()), (1_000_000, 5));
    assert_eq!(metadata.mode() & 0o777, 0o711);
    assert!(fs::metadata(site.dir()).unwrap().file_type().is_dir() && !metadata.file_type().is_fifo());
}

#[test]
fn program_that_runs_is_not_cut_by_an_open_for_reading_either() {
    let Some(site) = site() else { return };
    let program = site.path("program");
    // A copy by this process could be open for writing in the fork of another test.
    assert!(Command::new("cp").args([Path::new("/bin/sleep"), &program]).status().unwrap().success());
    let mut running = Command::new(&program).arg("60").spawn().unwrap();
    let cut = OpenOptions::new().read(true).custom_flags(O_TRUNC).open(&program);
    assert_eq!(cut.unwrap_err().kind(), ErrorKind::ExecutableFileBusy);
    assert_eq!(fs::metadata(&program).unwrap().len(), fs::metadata("/bin/sleep").unwrap().len());
    running.kill().unwrap();
    running.wait().unwrap();
}

#[test]
fn file_stays_readable_when_its_last_name_is_gone() {
    let Some(site) = site() else { return };
    let mut file =
        OpenOptions::new().read(true).write(true).create(true).truncate(true).open(site.path("gone")).unwrap();
    file.write_all(b"still here").unwrap();
    fs::remove_file(site.path("gone")).unwrap();
    assert_eq!(file.metadata().unwrap().len(), 10);
    let mut text = String::new();
    file.seek(SeekFrom::Start(6)).unwrap();
    file.read_to_string(&mut text).unwrap();
    assert_eq!(text, "here");
}

#[test]
fn change_behind_the_mount_is_seen_at_the_next_open() {
    use vfs::{Context, FileSystem, Name, OpenMode, Place, Stability};
    let fs = memory();
    // Attributes stay valid for long: only the open can find out.
    let validity = Validity { attributes: LONG, names: LONG, absences: LONG };
    let Some(site) = Site::new(Arc::clone(&fs) as Arc<_>, Options { validity, ..Options::default() }) else { return };
    fs::write(site.path("f"), b"first").unwrap();
    assert_eq!(fs::read(site.path("f")).unwrap(), b"first");
    let place = Place { dir: fs.root(), name: Name::new(b"f").unwrap() };
    let handle = fs.lookup(&Context::ROOT, place).unwrap().handle;
    let file = fs.open(&Context::ROOT, &handle, OpenMode::Write).unwrap();
    file.write_at(&Context::ROOT, 0, b"second and longer", Stability::File).unwrap();
    assert_eq!(fs::read(site.path("f")).unwrap(), b"second and longer");
}

#[test]
fn many_threads_at_once_see_their_own_files() {
    let Some(site) = site() else { return };
    thread::scope(|scope| {
        for number in 0..16_u8 {
            let site = &site;
            scope.spawn(move || {
                for round in 0..20_u8 {
                    let path = site.path(&format!("{number}"));
                    fs::write(&path, vec![number ^ round; 100_000]).unwrap();
                    assert!(fs::read(&path).unwrap().iter().all(|byte| *byte == number ^ round));
                    fs::remove_file(&path).unwrap();
                }
            });
        }
    });
    assert_eq!(fs::read_dir(site.dir()).unwrap().count(), 0);
}

#[test]
fn busy_mount_is_not_unmounted_and_says_so_and_an_idle_one_ends() {
    let Some(site) = site() else { return };
    let file = File::create(site.path("open")).unwrap();
    let error = site.mounted.unmount().unwrap_err();
    assert!(matches!(error, UnmountError::Busy(_)), "{error}");
    drop(file);
    // The kernel closes a file behind the back of whoever closed it last.
    while let Err(error) = site.mounted.unmount() {
        assert!(matches!(error, UnmountError::Busy(_)), "{error}");
        thread::yield_now();
    }
    assert!(site.mounted.wait_for(LONG));
    assert_eq!(fs::read_dir(site.dir()).unwrap().count(), 0);
}

#[test]
fn busy_mount_that_is_unmounted_by_force_leaves_no_dead_directory_behind() {
    let Some(site) = site() else { return };
    let file = File::create(site.path("open")).unwrap();
    // It says that the mount is busy, and has ended the connection.
    Command::new("umount").arg("-f").arg(site.dir()).output().unwrap();
    assert!(site.mounted.wait_for(LONG));
    assert_eq!(fs::read_dir(site.dir()).unwrap().count(), 0);
    assert!(file.metadata().is_err());
}

#[test]
fn place_that_is_no_directory_is_refused_with_its_name() {
    let mounted = mount::mount(memory(), "/dev/null".as_ref(), Options::default());
    let text = mounted.err().unwrap().to_string();
    assert!(text.starts_with("/dev/null: is not a directory"), "{text}");
    let mounted = mount::mount(memory(), "/does/not/exist".as_ref(), Options::default());
    assert!(mounted.err().unwrap().to_string().starts_with("/does/not/exist: "));
}
