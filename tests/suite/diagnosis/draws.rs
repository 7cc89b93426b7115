//! Random draws: a cause at a random block is found there and named first, exact; two at once are taken apart.
//!
//! Two real sizes: 64x64, and one that is odd and not square. A few draws run always; all of them (every variant
//! once, and twenty mixtures, at each size) with `BLOCKSCOPE_DRAWS=all`, which takes long.

use super::crafted::Draw;
use super::{Network, step_variants};
use blockscope::diagnosis::Variant;
use blockscope::diagnosis::explain::Explained;
use blockscope::geometry::{Geometry, Size};
use blockscope::plan::Plan;
use std::time::Instant;

/// Draws of one size in a normal run: single causes, mixtures.
const FEW: (usize, usize) = (3, 1);
/// Mixtures of one size in a complete run.
const MIXTURES: usize = 20;
/// Products of a step that a normal run may draw.
const CHEAP: u64 = 40_000_000;
/// Sites tried until a drawn cause has an effect.
const SITES: usize = 6;

fn is_complete() -> bool {
    std::env::var("BLOCKSCOPE_DRAWS").is_ok_and(|value| value == "all")
}

/// A random site of a variant where it changes something, and the plan that does.
fn site(network: &Network, variants: &[&Variant], draw: &mut Draw) -> Option<(usize, Plan)> {
    let most = if is_complete() { u64::MAX } else { CHEAP };
    let has_place = |&i: &usize| {
        let plan = &mut Plan::clone(&network.plan);
        network.plan.steps[i].op.products(plan) <= most && variants.iter().all(|v| v.apply(plan, i))
    };
    let places: Vec<usize> = (0..network.plan.steps.len()).filter(has_place).collect();
    (0..SITES.min(places.len())).find_map(|_| {
        let step = places[draw.below(places.len())];
        let mut changed = Plan::clone(&network.plan);
        variants.iter().for_each(|v| assert!(v.apply(&mut changed, step), "it had a place"));
        let differs = network.observe(&changed, step).iter().any(|(s, r)| s.bytes() != r.bytes());
        differs.then_some((step, changed))
    })
}

/// What a size's draws came to.
#[derive(Debug, Default)]
struct Tally {
    /// Single causes: named first; another with the very same bytes named first; missed; without effect.
    singles: [usize; 4],
    /// Mixtures: found; missed.
    mixtures: [usize; 2],
    missed: Vec<String>,
}

fn draws(size: Size, seed: u64) -> Tally {
    let network = Network::new(Geometry::new(size).unwrap());
    let (mut draw, mut tally) = (Draw(seed), Tally::default());
    let mut all: Vec<&'static Variant> = step_variants().collect();
    if !is_complete() {
        all = (0..4 * FEW.0).map(|_| all[draw.below(all.len())]).collect();
    }
    for variant in all {
        if !is_complete() && tally.singles[..3].iter().sum::<usize>() >= FEW.0 {
            break;
        }
        let start = Instant::now();
        let Some((step, changed)) = site(&network, &[variant], &mut draw) else {
            tally.singles[3] += 1;
            continue;
        };
        let found = network.explain(step, network.observe(&changed, step));
        let exact: Vec<_> = found.tested.iter().filter(|t| t.exact()).map(|t| t.causes.clone()).collect();
        let first = found.explained == Explained::Exactly && exact[0] == [variant.id];
        // Whoever explains the whole tensor exactly gives the subject's very bytes.
        let tie = found.explained == Explained::Exactly && found.tested[0].whole;
        let place = [first, !first && tie, !first && !tie].iter().position(|&b| b).unwrap_or(2);
        tally.singles[place] += 1;
        let name = network.plan.steps[step].name();
        println!(
            "{size} {} at {name}: {} in {:.1} s",
            variant.id,
            ["first", "tie", "MISSED"][place],
            start.elapsed().as_secs_f64()
        );
        if place == 2 {
            tally.missed.push(format!("{} at {name}: {:?}", variant.id, found.tested.first()));
        }
    }
    let all: Vec<&'static Variant> = step_variants().collect();
    let wanted = if is_complete() { MIXTURES } else { FEW.1 };
    for _ in 0..50 * wanted {
        if tally.mixtures.iter().sum::<usize>() >= wanted {
            break;
        }
        let (a, b) = (all[draw.below(all.len())], all[draw.below(all.len())]);
        if let Some(found) = mixture(&network, a, b, &mut draw) {
            println!("{size} {} + {}: {found:?}", a.id, b.id);
            tally.mixtures[usize::from(found.is_err())] += 1;
            tally.missed.extend(found.err());
        }
    }
    tally
}

/// Two causes at one step; `None` where one of them changes nothing or overrides the other.
fn mixture(network: &Network, a: &'static Variant, b: &'static Variant, draw: &mut Draw) -> Option<Result<(), String>> {
    let (step, changed) = site(network, &[a, b], draw)?;
    let observed = network.observe(&changed, step);
    let alone = |variant: &Variant| {
        let mut plan = Plan::clone(&network.plan);
        variant.apply(&mut plan, step);
        network.observe(&plan, step)
    };
    let both = [a, b].into_iter().all(|v| {
        let alone = alone(v);
        let pairs = || alone.iter().zip(&observed);
        pairs().any(|((s, _), (o, _))| s.bytes() != o.bytes()) && alone.iter().any(|(s, r)| s.bytes() != r.bytes())
    });
    if !both {
        return None;
    }
    let found = network.explain(step, observed);
    // Another explanation of every byte of the whole tensor is one too.
    let named = found.explained == Explained::Exactly && found.tested[0].whole;
    let name = network.plan.steps[step].name();
    Some(if named { Ok(()) } else { Err(format!("{} + {} at {name}: {:?}", a.id, b.id, found.tested.first())) })
}

fn check(size: Size, seed: u64) {
    let tally = draws(size, seed);
    println!("{size}: {tally:#?}");
    assert_eq!(tally.singles[2], 0, "single causes missed: {:#?}", tally.missed);
    assert!(tally.singles[0] > 0, "something was drawn");
    let [found, missed] = tally.mixtures;
    assert!(found * 10 >= (found + missed) * 9, "nine of ten mixtures: {:#?}", tally.missed);
}

#[test]
fn causes_drawn_at_64x64_are_named_first() {
    check(Size::new(64, 64), 11);
}

#[test]
fn causes_drawn_at_an_odd_size_are_named_first() {
    check(Size::new(389, 131), 23);
}
