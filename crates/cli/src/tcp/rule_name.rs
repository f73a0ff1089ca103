use clap::ValueEnum;
use segments::Rule;

/// [`Rule`] on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RuleName {
    /// Whole segments while more data is queued; a lone segment is sent without offload.
    Before,
    /// Whole segments for more than two, otherwise all data at once.
    After,
    /// Whole segments while more data is queued, within the limits of the network card.
    Today,
}

impl From<RuleName> for Rule {
    fn from(name: RuleName) -> Rule {
        match name {
            RuleName::Before => Rule::Before,
            RuleName::After => Rule::After,
            RuleName::Today => Rule::Today,
        }
    }
}
