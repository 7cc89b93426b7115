//! Readers of what people bring, fuzzed: damaged files, raw bytes and words must be refused or read, never panic,
//! overflow, or take memory for what a header merely claims.
//!
//! Every run tries some thousands of cases of each target, the same ones each time. `BLOCKSCOPE_FUZZ_CASES=1000000`
//! asks for a million of each, `BLOCKSCOPE_FUZZ_SEED=N` for other ones:
//! `BLOCKSCOPE_FUZZ_CASES=1000000 cargo test --release --test suite fuzz`. Targets that touch files or decode pictures
//! take a hundredth of that.

mod bytes;
mod directories;
mod edit;
mod manifests;
mod words;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use std::cell::Cell;
use std::time::Instant;

/// What became of one case: whether the reader took it, or what is wrong with the reader.
type Taken = Result<bool, TestCaseError>;

fn setting(name: &str) -> Option<u32> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}: expected a number, found \"{text}\"")))
}

/// A cheap target: all the cases that are asked for.
fn fuzz<S: Strategy>(target: &str, strategy: &S, case: impl Fn(S::Value) -> Taken) {
    run(target, setting("BLOCKSCOPE_FUZZ_CASES").unwrap_or(3000), strategy, case);
}

/// A target that touches files or decodes pictures.
fn fuzz_slowly<S: Strategy>(target: &str, usual: u32, strategy: &S, case: impl Fn(S::Value) -> Taken) {
    run(target, setting("BLOCKSCOPE_FUZZ_CASES").map_or(usual, |n| n / 100), strategy, case);
}

fn run<S: Strategy>(target: &str, cases: u32, strategy: &S, case: impl Fn(S::Value) -> Taken) {
    let mut seed = [7; 32];
    seed[..4].copy_from_slice(&setting("BLOCKSCOPE_FUZZ_SEED").unwrap_or(0).to_le_bytes());
    let config = Config { cases, failure_persistence: None, max_shrink_iters: 4000, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &seed));
    let (taken, start) = (Cell::new(0_u32), Instant::now());
    let result = runner.run(strategy, |value| {
        taken.set(taken.get() + u32::from(case(value)?));
        Ok(())
    });
    let (taken, seconds) = (taken.get(), start.elapsed().as_secs_f64());
    println!("fuzz {target}: {cases} cases, {taken} taken, {seconds:.1} s");
    if let Err(error) = result {
        panic!("{target}: {error}");
    }
    // A target that takes nothing, or everything, tests nothing.
    assert!(taken > 0 && taken < cases, "{target}: {taken} of {cases} cases were taken");
}
