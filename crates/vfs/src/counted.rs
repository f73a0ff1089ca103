//! Numbers of things in messages.

/// A number with its noun or verb, in the form that fits it: `1 change`, `2 changes`.
pub fn counted(count: u64, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_singular_and_none_and_several_are_plural() {
        let texts = [0, 1, 2].map(|count| counted(count, "change is", "changes are"));
        assert_eq!(texts, ["0 changes are", "1 change is", "2 changes are"]);
    }
}
