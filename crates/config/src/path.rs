//! Names of exports and paths of directories.

use std::path::{Component, Path, PathBuf};

/// Why a path or name is not valid for an export.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathReason {
    /// It does not begin with a slash.
    #[error("{0:?} must be an absolute path")]
    Relative(String),
    /// It goes up.
    #[error("{0:?} must not contain `..`")]
    Parent(String),
    /// Clients could not send it (RFC 1813 §5.1.1, `MNTPATHLEN`).
    #[error("a name of {0} bytes is too long: clients can ask for names of up to {MAX_NAME_BYTES} bytes")]
    TooLong(usize),
    /// A NUL byte ends every path in C.
    #[error("there is a NUL byte in the path")]
    Nul,
    /// Names travel as text.
    #[error("the name is not UTF-8; give the export another `name` in a TOML file")]
    NotUtf8,
}

/// The longest path that MOUNT carries (RFC 1813 §5.1.1, `MNTPATHLEN`).
const MAX_NAME_BYTES: usize = 1024;

/// Returns the export name for an absolute path: without `.`, doubled slashes and a trailing slash.
pub(crate) fn export_name(path: &str) -> Result<String, PathReason> {
    if !path.starts_with('/') {
        return Err(PathReason::Relative(path.to_owned()));
    }
    if path.contains('\0') {
        return Err(PathReason::Nul);
    }
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    if parts.contains(&"..") {
        return Err(PathReason::Parent(path.to_owned()));
    }
    let name = format!("/{}", parts.join("/"));
    if name.len() > MAX_NAME_BYTES { Err(PathReason::TooLong(name.len())) } else { Ok(name) }
}

/// Returns the export name of a directory in a file, which must be absolute.
pub(crate) fn name_of_dir(dir: &Path) -> Result<String, PathReason> {
    export_name(dir.to_str().ok_or(PathReason::NotUtf8)?)
}

/// Makes `dir` absolute, below `base`, and resolves `..` by name.
///
/// After a symbolic link, the system resolves `..` by the link's target instead. The name is what the user typed, not
/// where the link leads.
pub(crate) fn absolute(dir: &Path, base: &Path) -> PathBuf {
    let mut whole = PathBuf::new();
    for component in base.join(dir).components() {
        match component {
            Component::ParentDir => {
                whole.pop();
            }
            Component::CurDir => {}
            other => whole.push(other),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_loses_what_says_nothing() {
        assert_eq!(export_name("/srv//data/./x/").as_deref(), Ok("/srv/data/x"));
        assert_eq!(export_name("/").as_deref(), Ok("/"));
    }

    #[test]
    fn name_that_could_mean_another_place_is_refused() {
        assert_eq!(export_name("srv"), Err(PathReason::Relative("srv".to_owned())));
        assert_eq!(export_name("/srv/../etc"), Err(PathReason::Parent("/srv/../etc".to_owned())));
        assert_eq!(export_name("/a\0b"), Err(PathReason::Nul));
        assert_eq!(export_name(&format!("/{}", "a".repeat(1024))), Err(PathReason::TooLong(1025)));
        assert!(export_name(&format!("/{}", "a".repeat(1023))).is_ok());
    }

    #[test]
    fn relative_directory_is_below_the_base() {
        let base = Path::new("/home/me");
        assert_eq!(absolute(Path::new("data"), base), Path::new("/home/me/data"));
        assert_eq!(absolute(Path::new("../you/./x"), base), Path::new("/home/you/x"));
        assert_eq!(absolute(Path::new("."), base), base);
        assert_eq!(absolute(Path::new("/srv/"), base), Path::new("/srv"));
        assert_eq!(absolute(Path::new("../../.."), base), Path::new("/"));
    }
}
