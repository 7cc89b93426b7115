//! Random draws: a cause at a random block is found there and named first, exact; two at once are taken apart.
//!
//! Two real sizes: 64x64, and one that is odd and not square. A few draws run always; all of them (every variant
//! once, and twenty mixtures, at each size) with `BLOCKSCOPE_DRAWS=all`, which takes long: `BLOCKSCOPE_DRAWS=2/4`
//! makes the second quarter of them, `BLOCKSCOPE_DRAWS=mixtures` no single ones. Complete draws are told on standard
//! error as they come.

use super::crafted::Draw;
use super::{Network, step_variants};
use blockscope::diagnosis::explain::Explained;
use blockscope::diagnosis::{Profile, Variant};
use blockscope::engine::EngineSpec;
use blockscope::geometry::{Geometry, Size};
use blockscope::plan::{Detail, Plan};
use blockscope::tensor::{Tensor, TensorName};
use std::io::Write as _;
use std::time::Instant;

/// Draws of one size in a normal run: single causes, mixtures.
const FEW: (usize, usize) = (3, 1);
/// Mixtures of one size in a complete run.
const MIXTURES: usize = 20;
/// Products of a step that a normal run may draw.
const CHEAP: u64 = 40_000_000;
/// Sites tried until a drawn cause has an effect.
const SITES: usize = 6;

/// Which part of the complete draw is asked for: 1 of 1 for all, nothing in a normal run.
fn part() -> Option<(usize, usize)> {
    let value = std::env::var("BLOCKSCOPE_DRAWS").ok()?;
    if value == "all" || value == "mixtures" {
        return Some((1, 1));
    }
    let (part, parts) = value.split_once('/')?;
    Some((part.parse().ok()?, parts.parse().ok()?)).filter(|&(part, parts)| (1..=parts).contains(&part))
}

fn is_complete() -> bool {
    part().is_some()
}

/// Tells at once, past the test's capture: a complete draw takes long.
fn tell(text: &str) {
    if is_complete() {
        drop(writeln!(std::io::stderr().lock(), "{text}"));
    } else {
        println!("{text}");
    }
}

/// A step with a changed plan, and what both sides give there.
type Site = (usize, Plan, Vec<(Tensor, Tensor)>);

/// A random site of a variant where it changes something.
fn site(network: &Network, variants: &[&Variant], draw: &mut Draw) -> Option<Site> {
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
        let observed = network.observe(&changed, step);
        let differs = observed.iter().any(|(s, r)| s.bytes() != r.bytes());
        differs.then_some((step, changed, observed))
    })
}

/// Whether a profile, applied to the exact plan and run whole, gives these very bytes.
fn gives(network: &Network, profile: &str, step: usize, observed: &[(Tensor, Tensor)]) -> bool {
    let spec: EngineSpec = format!("cpu+{profile}").parse().unwrap();
    let plan = Profile::new(&spec.changes).unwrap().apply(&network.plan).unwrap();
    let again = network.observe(&plan, step);
    again.len() == observed.len() && again.iter().zip(observed).all(|((a, _), (b, _))| a.bytes() == b.bytes())
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
    let (part, parts) = part().unwrap_or((1, 1));
    let (mut draw, mut tally) = (Draw(seed + part as u64 - 1), Tally::default());
    let mut all: Vec<&'static Variant> = step_variants().skip(part - 1).step_by(parts).collect();
    if std::env::var("BLOCKSCOPE_DRAWS").is_ok_and(|value| value == "mixtures") {
        all.clear();
    } else if !is_complete() {
        all = (0..4 * FEW.0).map(|_| all[draw.below(all.len())]).collect();
    }
    for variant in all {
        if !is_complete() && tally.singles[..3].iter().sum::<usize>() >= FEW.0 {
            break;
        }
        let start = Instant::now();
        let Some((step, _, observed)) = site(&network, &[variant], &mut draw) else {
            tally.singles[3] += 1;
            tell(&format!("{size} {}: without effect", variant.id));
            continue;
        };
        let found = network.explain(step, observed.clone());
        let best = found.tested.first();
        let exact = best.filter(|best| found.explained == Explained::Exactly && best.whole);
        let first = exact.is_some_and(|best| best.causes == [variant.id]);
        // Another cause may give the subject's very bytes: then nobody can tell them apart, and both are named.
        let tie = exact.filter(|best| !first && gives(&network, &best.profile, step, &observed));
        let place = [first, tie.is_some(), true].iter().position(|&b| b).unwrap_or(2);
        tally.singles[place] += 1;
        let name = network.plan.steps[step].name();
        let what = match (place, best) {
            (1, Some(best)) => format!("tie, the very bytes of {}", best.profile),
            (0, _) => "first".to_owned(),
            _ => format!("MISSED {best:?}"),
        };
        tell(&format!("{size} {} at {name}: {what} in {:.1} s", variant.id, start.elapsed().as_secs_f64()));
        if place == 2 {
            tally.missed.push(format!("{} at {name}: {best:?}", variant.id));
        }
    }
    let all: Vec<&'static Variant> = step_variants().collect();
    let wanted = if is_complete() { MIXTURES / parts } else { FEW.1 };
    for _ in 0..50 * wanted {
        if tally.mixtures.iter().sum::<usize>() >= wanted {
            break;
        }
        let (a, b) = (all[draw.below(all.len())], all[draw.below(all.len())]);
        let start = Instant::now();
        if let Some(found) = mixture(&network, a, b, &mut draw) {
            let seconds = start.elapsed().as_secs_f64();
            tell(&format!("{size} {} + {}: {found:?} in {seconds:.1} s", a.id, b.id));
            tally.mixtures[usize::from(found.is_err())] += 1;
            tally.missed.extend(found.err());
        }
    }
    tally
}

/// Two causes at one step, and what explains them; `None` where one of them changes nothing or overrides the other.
fn mixture(
    network: &Network,
    a: &'static Variant,
    b: &'static Variant,
    draw: &mut Draw,
) -> Option<Result<String, String>> {
    let (step, _, observed) = site(network, &[a, b], draw)?;
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
    let found = network.explain(step, observed.clone());
    // Another explanation of every byte of the whole tensor is one too.
    let exact = found.tested.first().filter(|best| found.explained == Explained::Exactly && best.whole);
    let named = exact.filter(|best| gives(network, &best.profile, step, &observed)).map(|best| best.profile.clone());
    let name = network.plan.steps[step].name();
    Some(named.ok_or_else(|| format!("{} + {} at {name}: {:?}", a.id, b.id, found.tested.first())))
}

fn check(size: Size, seed: u64) {
    let tally = draws(size, seed);
    tell(&format!("{size}: {tally:#?}"));
    assert_eq!(tally.singles[2], 0, "single causes missed: {:#?}", tally.missed);
    assert!(tally.singles.iter().chain(&tally.mixtures).sum::<usize>() > 0, "something was drawn");
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

#[test]
fn a_variant_has_a_place_only_where_what_it_reads_is_made() {
    let blocks = [0, 1, 4, 5, 8, 9, 14, 15, 22, 23, 30, 31, 37, 38, 39, 40, 48, 56, 65, 66, 69, 70];
    for detail in [Detail::Needed, Detail::Raw] {
        let plan = Plan::new(Geometry::new(Size::new(64, 64)).unwrap(), detail);
        for i in (0..plan.steps.len()).filter(|&i| blocks.contains(&plan.steps[i].block)) {
            for variant in step_variants() {
                let mut changed = plan.clone();
                if !variant.apply(&mut changed, i) {
                    continue;
                }
                let lacks = |name: &&TensorName| !changed.tensors.contains_key(*name);
                let missing = changed.steps[i].op.inputs().into_iter().find(lacks);
                assert_eq!(missing, None, "{} at {}, {detail:?}", variant.id, plan.steps[i].name());
            }
        }
    }
}
