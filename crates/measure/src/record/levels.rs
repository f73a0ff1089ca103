use std::collections::BTreeMap;

/// One level of each factor, by the factor's name.
pub type Levels = BTreeMap<String, String>;
