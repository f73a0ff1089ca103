//! The lines of a job file: sections with settings, and comments behind `;` and `#`.

use crate::failure::FioProblem as Problem;

/// A setting of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) key: String,
    /// What is behind `=`; 1 without that, which switches something on.
    pub(super) value: String,
    /// From 1.
    pub(super) line: usize,
}

/// A job, with the settings of the global sections above it in front of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) line: usize,
    pub(super) settings: Vec<Setting>,
}

/// The section whose settings are those of all jobs below it.
const GLOBAL: &str = "global";
/// The most jobs of a file.
const MAX_JOBS: usize = 1000;

/// The jobs of a file in their order.
///
/// # Errors
/// What is wrong in which line.
pub(super) fn sections(text: &str) -> Result<Vec<Section>, (usize, Problem)> {
    let (mut global, mut jobs, mut is_global) = (Vec::new(), Vec::<Section>::new(), true);
    for (line, content) in (1..).zip(text.lines()) {
        let content = content.split([';', '#']).next().unwrap_or_default().trim();
        if content.is_empty() {
            continue;
        }
        if let Some(name) = content.strip_prefix('[') {
            let name = name.strip_suffix(']').ok_or((line, Problem::Bracket))?.to_owned();
            is_global = name == GLOBAL;
            if !is_global {
                jobs.push(Section { name, line, settings: global.clone() });
            }
            continue;
        }
        let setting = setting(content, line)?;
        match jobs.last_mut() {
            _ if is_global => global.push(setting),
            Some(job) => job.settings.push(setting),
            None => global.push(setting),
        }
    }
    match jobs.len() {
        0 => Err((text.lines().count().max(1), Problem::NoJob)),
        1..=MAX_JOBS => Ok(jobs),
        count => Err((jobs[MAX_JOBS].line, Problem::TooManyJobs { count, max: MAX_JOBS })),
    }
}

fn setting(content: &str, line: usize) -> Result<Setting, (usize, Problem)> {
    let (key, value) = content.split_once('=').unwrap_or((content, "1"));
    let [key, value] = [key, value].map(|part| part.trim().to_owned());
    if value.contains('$') {
        return Err((line, Problem::Variable { key, value }));
    }
    Ok(Setting { key, value, line })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(section: &Section) -> String {
        let settings = section.settings.iter().map(|Setting { key, value, line }| format!(" {line}:{key}={value}"));
        format!("{}:{}{}", section.line, section.name, settings.collect::<String>())
    }

    #[test]
    fn jobs_have_the_global_settings_above_them() {
        let text =
            "; first\n[global]\nbs = 8k # why\ntime_based\n\n[one]\nrw=read\n[global]\nbs=4k\n[two jobs]\nrw=write";
        let shown: Vec<String> = sections(text).unwrap().iter().map(shown).collect();
        assert_eq!(
            shown,
            ["6:one 3:bs=8k 4:time_based=1 7:rw=read", "10:two jobs 3:bs=8k 4:time_based=1 9:bs=4k 11:rw=write"]
        );
    }

    #[test]
    fn file_without_jobs_and_lines_that_are_none_are_refused_with_the_line() {
        assert!(matches!(sections("[global]\nbs=4k\n"), Err((2, Problem::NoJob))));
        assert!(matches!(sections(""), Err((1, Problem::NoJob))));
        assert!(matches!(sections("[one\n"), Err((1, Problem::Bracket))));
        assert!(matches!(sections("[a]\nfilename=${HOME}/x"), Err((2, Problem::Variable { .. }))));
        let many = "[job]\n".repeat(1001);
        assert!(matches!(sections(&many), Err((1001, Problem::TooManyJobs { count: 1001, max: 1000 }))));
    }
}
