//! Histories that together take every step in every standing that can be reached, found by walking a reference machine.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// What a walk needs to know of a machine.
pub trait Walked: Clone + Default {
    type Step: Copy + Ord + std::fmt::Debug;
    /// Everything that a step's outcome could depend on.
    type Standing: Clone + Ord + std::fmt::Debug;
    fn step(&mut self, step: Self::Step);
    fn standing(&self) -> Self::Standing;
}

/// Histories of at most `longest` steps, each from the start, and every standing and step that they meet.
pub fn histories<M: Walked>(steps: &[M::Step], longest: usize) -> (Vec<Vec<M::Step>>, Met<M>) {
    let (mut all, mut met) = (vec![], Met::<M>::default());
    loop {
        let (mut machine, mut history) = (M::default(), vec![]);
        while let Some(path) = nearest(&machine, steps, &met)
            .filter(|path| history.len() + path.len() <= longest || history.is_empty())
        {
            for step in path {
                met.count(&machine, step);
                machine.step(step);
                history.push(step);
            }
        }
        if history.is_empty() {
            return (all, met);
        }
        all.push(history);
    }
}

/// The shortest way to a step that was not yet taken in its standing.
fn nearest<M: Walked>(from: &M, steps: &[M::Step], met: &Met<M>) -> Option<Vec<M::Step>> {
    let mut seen = BTreeSet::from([from.standing()]);
    let mut open = VecDeque::from([(from.clone(), vec![])]);
    while let Some((machine, path)) = open.pop_front() {
        let standing = machine.standing();
        for step in steps {
            let mut way = path.clone();
            way.push(*step);
            if !met.0.contains_key(&(standing.clone(), *step)) {
                return Some(way);
            }
            let mut next = machine.clone();
            next.step(*step);
            if seen.insert(next.standing()) {
                open.push_back((next, way));
            }
        }
    }
    None
}

/// How often each step was taken in each standing.
pub struct Met<M: Walked>(pub BTreeMap<(M::Standing, M::Step), usize>);

impl<M: Walked> Default for Met<M> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<M: Walked> Met<M> {
    fn count(&mut self, machine: &M, step: M::Step) {
        *self.0.entry((machine.standing(), step)).or_default() += 1;
    }

    /// The matrix, one standing a row.
    pub fn matrix(&self, steps: &[M::Step]) -> String {
        let standings: BTreeSet<_> = self.0.keys().map(|(standing, _)| standing.clone()).collect();
        let rows = standings.iter().map(|standing| {
            let counts =
                steps.iter().map(|step| self.0.get(&(standing.clone(), *step)).copied().unwrap_or(0));
            let counts: Vec<_> = counts.map(|count| format!("{count:>4}")).collect();
            format!("{}  {standing:?}\n", counts.concat())
        });
        let head =
            steps.iter().enumerate().map(|(n, step)| format!("{:>4}  {step:?}\n", format!("#{}", n + 1)));
        head.chain(rows).collect()
    }

    /// How many standings were met.
    pub fn standings(&self) -> usize {
        self.0.keys().map(|(standing, _)| standing).collect::<BTreeSet<_>>().len()
    }

    /// Every step in every standing that was met.
    pub fn is_full(&self, steps: &[M::Step]) -> bool {
        self.standings() * steps.len() == self.0.len()
    }
}
