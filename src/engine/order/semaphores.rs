//! What a wait for a semaphore follows: the updates that brought it to the value, in the order of
//! the run, and none that came after (`docs/order.md`, "Edges from elsewhere").

use crate::bir::Body;
use crate::bir::Inst;
use crate::bir::exec::Program;
use crate::bir::quick::QuickMap;

/// Semaphores that some instruction or block waits for, with what is known where each value that
/// is waited for is reached.
#[derive(Debug, Clone, Default)]
pub(in crate::engine) struct Semaphores<T>(QuickMap<u64, Level<T>>);

#[derive(Debug, Clone)]
struct Level<T> {
    value: u64,
    /// What all who raised it so far knew.
    known: T,
    /// By value that is waited for, ascending.
    reached: Vec<(u64, Option<T>)>,
}

impl<T: Clone + Default> Semaphores<T> {
    /// All of them at 0.
    pub fn of(p: &Program) -> Semaphores<T> {
        let mut all: QuickMap<u64, Level<T>> = QuickMap::default();
        p.module().visit(&mut |i: &std::sync::Arc<Inst>| {
            for w in i.waits.iter().filter(|w| w.value > 0) {
                let new = || Level { value: 0, known: T::default(), reached: Vec::new() };
                all.entry(w.id).or_insert_with(new).reached.push((w.value, None));
            }
        });
        for level in all.values_mut() {
            level.reached.sort_unstable_by_key(|r| r.0);
            level.reached.dedup_by_key(|r| r.0);
        }
        Semaphores(all)
    }

    /// Raises one; `join` adds what is known to who does it.
    pub fn raise(&mut self, id: u64, by: u64, join: impl FnOnce(&mut T)) {
        let Some(level) = self.0.get_mut(&id) else { return };
        let before = level.value;
        level.value = before.saturating_add(by);
        join(&mut level.known);
        let from = level.reached.partition_point(|r| r.0 <= before);
        let to = level.reached.partition_point(|r| r.0 <= level.value);
        for r in level.reached.get_mut(from..to).into_iter().flatten() {
            r.1 = Some(level.known.clone());
        }
    }

    /// Makes one 0 again.
    pub fn zero(&mut self, id: u64) {
        let Some(level) = self.0.get_mut(&id) else { return };
        (level.value, level.known) = (0, T::default());
        level.reached.iter_mut().for_each(|r| r.1 = None);
    }

    /// What a wait for a value follows.
    pub fn reached(&self, id: u64, value: u64) -> Option<&T> {
        let all = &self.0.get(&id)?.reached;
        let at = all.binary_search_by_key(&value, |r| r.0).ok()?;
        all.get(at)?.1.as_ref()
    }
}

/// Semaphores that an instruction makes 0 when it begins.
pub(in crate::engine) fn zeroed(inst: &Inst) -> &[u64] {
    match &inst.body {
        Body::ResetSemaphores(ids) => ids,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_wait_follows_what_brought_the_semaphore_to_its_value() {
        let level = |values: &[u64]| Level {
            value: 0,
            known: Vec::new(),
            reached: values.iter().map(|v| (*v, None)).collect(),
        };
        let mut all: Semaphores<Vec<char>> = Semaphores::default();
        all.0.insert(7, level(&[1, 3, 6]));
        let steps = [('a', 0), ('b', 1), ('c', 1), ('d', 3), ('e', 9)];
        for (who, by) in steps {
            all.raise(7, by, |known| known.push(who));
            all.raise(8, by, |_| panic!("nobody waits for it"));
        }
        assert_eq!(all.reached(7, 1).unwrap(), &['a', 'b']);
        assert_eq!(all.reached(7, 3).unwrap(), &['a', 'b', 'c', 'd']);
        assert_eq!(all.reached(7, 6).unwrap(), &['a', 'b', 'c', 'd', 'e']);
        // Values that nobody waits for, and semaphores.
        assert_eq!((all.reached(7, 2), all.reached(8, 1)), (None, None));
        all.zero(7);
        assert_eq!(all.reached(7, 1), None);
        all.raise(7, 1, |known| known.push('f'));
        assert_eq!((all.reached(7, 1), all.reached(7, 3)), (Some(&vec!['f']), None));
    }
}
