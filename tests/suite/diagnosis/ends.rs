//! What a subject does in the end, and the noise floor beside it.

use super::NETWORK;
use blockscope::diagnosis::what_if::{Network, noise_floor, what_if};
use blockscope::diagnosis::{Profile, WhatIf};
use blockscope::engine::{Control, EngineSpec, open};
use std::sync::Arc;

fn ends(spec: &str) -> WhatIf {
    let spec: EngineSpec = spec.parse().unwrap();
    let changed = Arc::new(Profile::new(&spec.changes).unwrap().apply(&NETWORK.plan).unwrap());
    let (mut subject, mut exact) = (open(&spec).unwrap(), open(&EngineSpec::cpu()).unwrap());
    let (plan, model, features) = (&NETWORK.plan, &NETWORK.model, &NETWORK.features());
    let network = Network { plan, model, features, until: None };
    what_if((subject.as_mut(), &changed), exact.as_mut(), &network, &Control::new(), &mut |_| {}).unwrap()
}

#[test]
fn an_exact_subject_has_no_effect_and_no_psnr() {
    let effects = ends("cpu");
    assert_eq!(effects.boundaries.len(), NETWORK.plan.boundaries.len(), "every boundary");
    assert!(
        effects.boundaries.iter().chain(&effects.image).all(|e| e.differing == 0 && e.psnr.is_none()),
        "{effects:?}"
    );
    assert!(effects.image.is_some_and(|image| image.bytes == 40 * 36 * 4), "the valid rectangle, RGBA");
}

#[test]
fn a_cause_is_nothing_before_its_block_and_grows_behind_it() {
    // Reads a skip that the exact network has released by then.
    let effects = ends("cpu+skip-one-early@66");
    let at = effects.boundaries.iter().position(|effect| effect.name == "block-66").unwrap();
    assert!(effects.boundaries[..at].iter().all(|effect| effect.differing == 0), "before block 66");
    assert!(effects.boundaries[at..].iter().all(|e| e.differing > 0 && e.psnr.is_some_and(f64::is_finite)), "behind");
    assert!(effects.image.as_ref().is_some_and(|image| image.psnr.is_some()), "{}", effects.phrase());
}

#[test]
fn the_noise_floor_moves_the_head_and_hardly_the_image() {
    let (plan, model, features) = (&NETWORK.plan, &NETWORK.model, &NETWORK.features());
    let network = Network { plan, model, features, until: None };
    let floor = noise_floor(&network, &Control::new(), &mut |_| {}).unwrap();
    let (head, image) = (floor.head().unwrap(), floor.image.as_ref().unwrap());
    println!("{}", floor.phrase());
    assert!(head.name == "head" && head.differing > 0, "{head:?}");
    assert!(image.psnr.is_none_or(|psnr| psnr > 20.0), "rounding alone does not ruin the image: {image:?}");
    let first = &floor.boundaries[0];
    assert!(first.psnr.is_none_or(|psnr| psnr > head.psnr.unwrap_or(0.0)), "it grows on the way: {first:?}, {head:?}");
}
