//! Suggests a known name for an unknown one.

/// The maximum number of edits between a name and its suggestion.
const MAX_EDITS: usize = 2;

/// The longest name that is compared, in bytes: the comparison takes quadratic time.
const MAX_NAME_BYTES: usize = 64;

/// The name among `known` that is nearest to `name`, if it is near enough.
pub(crate) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    if name.len() > MAX_NAME_BYTES {
        return None;
    }
    let near = known.into_iter().map(|candidate| (strsim::levenshtein(name, candidate), candidate));
    let (distance, candidate) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= MAX_EDITS && distance < candidate.len()).then(|| candidate.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_with_a_slip_finds_the_one_that_was_meant() {
        let known = ["listen", "loops", "rpcbind"];
        assert_eq!(nearest("lissten", known).as_deref(), Some("listen"));
        assert_eq!(nearest("loop", known).as_deref(), Some("loops"));
        assert_eq!(nearest("rcpbind", known).as_deref(), Some("rpcbind"));
    }

    #[test]
    fn name_like_no_other_finds_none() {
        assert_eq!(nearest("colour", ["listen", "loops"]), None);
        assert_eq!(nearest("x", ["ro", "rw"]), None);
        assert_eq!(nearest(&"a".repeat(65), ["a"]), None);
    }
}
