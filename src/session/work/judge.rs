//! The judge of two recordings: neither side has an engine whose worker could compare them.
//!
//! Only accumulated verdicts exist then: no engine runs a step alone. A watched subject's are judged as they come.

use super::Crew;
use super::pair::{judge, not_compared};
use crate::session::Verdict;
use crate::tensor::Tensor;

/// Why nothing is known in isolation.
const ALONE: &str = "both sides are recordings: no engine runs a step alone";

/// Starts the judge; it ends when every step is judged and none is to come, or when the goal is closed.
pub(crate) fn start(crew: Crew) -> std::io::Result<()> {
    std::thread::Builder::new().name("judge".to_owned()).spawn(move || work(&crew)).map(|_detached| ())
}

fn work(crew: &Crew) {
    let [Some(subject), Some(reference)] = &crew.sides else { return };
    loop {
        let seen = crew.bell.count();
        if crew.goal.wish().closed {
            return;
        }
        let next = {
            let mut store = crew.pair.store();
            store.again.pop_first().or_else(|| Some(store.judged).filter(|&step| step < subject.plan.steps.len()))
        };
        let Some(index) = next else {
            if !subject.watched {
                return;
            }
            crew.bell.wait(seen);
            continue;
        };
        let step = &subject.plan.steps[index];
        let both = |name| Some((subject.tensor(name)?, reference.tensor(name)?));
        let pairs: Vec<(Tensor, Tensor)> = step.op.outputs().into_iter().filter_map(both).collect();
        let accumulated =
            if pairs.is_empty() { not_compared("one side does not hold this tensor") } else { judge(&pairs) };
        let known = accumulated.verdict != Verdict::NotCompared;
        {
            let mut store = crew.pair.store();
            store.isolated[index] = if known { not_compared(ALONE) } else { accumulated.clone() };
            store.exact.extend(pairs.iter().map(|(s, r)| (s.name.clone(), s.bytes() == r.bytes())));
            store.accumulated[index] = accumulated;
            store.judged = store.judged.max(index + 1);
        }
        // Steps without tensors are passed over in no time: the window need not hear of each.
        if known || index + 1 == subject.plan.steps.len() {
            crew.bell.ring();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Bell, Goal, Ledger, Pair};
    use super::*;
    use crate::geometry::{Geometry, Size};
    use crate::plan::{Detail, Plan};
    use crate::session::Waker;
    use crate::tensor::{Bytes, TensorName};
    use std::collections::BTreeMap;
    use std::sync::Arc;

    #[test]
    fn two_recordings_are_compared_where_both_hold_a_tensor() {
        let plan = Arc::new(Plan::new(Geometry::new(Size::new(64, 64)).unwrap(), Detail::Needed));
        let recording = |changed: bool| {
            let names: &[&str] = if changed { &["block-0", "block-1"] } else { &["block-0", "block-1", "block-2"] };
            let tensors: BTreeMap<TensorName, Tensor> = names
                .iter()
                .map(|name| {
                    let name = TensorName::new(*name);
                    let shape = plan.shape(&name);
                    let mut codes = vec![0x38_u8; shape.elements() * shape.element.bytes()];
                    if changed && name.as_str() == "block-1" {
                        codes[77] = 0x39;
                    }
                    (name.clone(), Tensor::new(name, shape, Bytes::copy(&codes)).unwrap())
                })
                .collect();
            Some(Arc::new(Ledger::recording(Arc::clone(&plan), tensors)))
        };
        let pair = Arc::new(Pair::new(plan.steps.len()));
        let bell = Arc::new(Bell::new(Waker::default()));
        let keeper = Arc::new(crate::tensor::Keeper::unlimited());
        let sides = [recording(true), recording(false)];
        let crew = Crew { sides, pair, goal: Arc::new(Goal::default()), bell, keeper };
        work(&crew);
        let store = crew.pair.store();
        let verdict = |name: &str| {
            let step = plan.find_step(name).unwrap();
            (store.accumulated[step].verdict, store.isolated[step].clone())
        };
        assert_eq!(store.judged, plan.steps.len(), "every step has a verdict");
        assert_eq!(verdict("block-0").0, Verdict::Exact, "equal bytes");
        assert_eq!(verdict("block-1").0, Verdict::Differs, "one byte differs");
        assert_eq!(verdict("block-1").1.reason, ALONE, "nothing runs alone, and it is said why");
        assert_eq!(verdict("block-2").0, Verdict::NotCompared, "held by one side only");
    }
}
