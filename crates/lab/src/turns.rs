//! In which order servers meet the loads of an experiment.

/// Measures each load with each of `servers` servers in each round, and collects what `measure_one` finds for a load, a server's number and
/// a round. The server that is first changes from round to round, so that what else the machine does meets all of them.
pub(crate) fn take_turns<L: Copy, S, E>(
    rounds: u32,
    loads: &[L],
    servers: usize,
    mut measure_one: impl FnMut(L, usize, u32) -> Result<S, E>,
) -> Result<Vec<S>, E> {
    let mut samples = Vec::new();
    for round in 1..=rounds {
        for &load in loads {
            for server in measure::rotation(round as usize - 1, servers) {
                samples.push(measure_one(load, server, round)?);
            }
        }
    }
    Ok(samples)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn server_that_is_first_changes_from_round_to_round() {
        let turns = take_turns(2, &['a', 'b'], 2, |load, server, round| Ok::<_, ()>((round, load, server)));
        let expected =
            [(1, 'a', 0), (1, 'a', 1), (1, 'b', 0), (1, 'b', 1), (2, 'a', 1), (2, 'a', 0), (2, 'b', 1), (2, 'b', 0)];
        assert_eq!(turns.unwrap(), expected);
    }
}
