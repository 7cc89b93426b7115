//! The accumulator has another width or group.

use super::super::site::{CODES, HALVES, PRODUCTS, at};
use super::super::{Cause, Test, Variant};
use crate::numerics::rules::{Chain, Dot, SharedExponent, Unit};

/// A half matrix instruction of a Hopper GPU on decoded codes, as measured: exponents without E4M3's floor.
const HALF_MMA: Dot = Dot { group: 16, fraction: 25, exponent: SharedExponent::Unfloored, ..Dot::EXACT };

/// The accumulator has another width or group.
pub(in super::super) const CAUSE: Cause = Cause {
    page: "accumulator-width",
    case: "P5",
    name: "The accumulator has another width or group",
    what: "Products are summed with more or fewer bits, or in other groups, than the fixed-point unit of the \
        network (16 products, 13 fractional bits).",
    looks: "Small code distances, everywhere; raw half outputs differ more often than published codes; longer \
        sums differ more.",
    why: "Another generation of matrix unit, an f32 emulation, or a unit that emulates FP8 with half \
        instructions.",
    confirm: "`blockscope explain` one differing value and compare group by group.",
    change: "Emulate the fixed-point group: align, truncate, sum in integers, round once to a half.",
    variants: &[
        Variant {
            id: "accumulate-f32",
            name: "products are summed in f32 and rounded once",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.unit = Unit::Singles;
                    r.weigh.unit = Unit::Singles;
                })
            }),
        },
        Variant {
            id: "two-half-mmas",
            name: "FP8 products run as two half matrix instructions per 32 (Hopper)",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.unit = Unit::TwoHalves;
                    r.weigh.unit = Unit::TwoHalves;
                })
            }),
        },
        Variant {
            id: "half-mma",
            name: "FP8 products run, decoded, through a half matrix instruction: groups of 16 with 25 bits (Hopper)",
            test: Test::Step(|plan, i| {
                at(plan, i, CODES, |r| {
                    r.dot = HALF_MMA;
                    r.weigh = HALF_MMA;
                })
            }),
        },
        Variant {
            id: "half-mma-f32",
            name: "the same with f32 accumulators, rounded to a half once",
            test: Test::Step(|plan, i| {
                at(plan, i, CODES, |r| {
                    r.dot = Dot { chain: Chain::Singles, ..HALF_MMA };
                    r.weigh = Dot { chain: Chain::Singles, ..HALF_MMA };
                })
            }),
        },
        Variant {
            id: "accumulate-f32-tree",
            name: "products are summed in f32 by a tree of 16 and rounded once",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.unit = Unit::SinglesTree;
                    r.weigh.unit = Unit::SinglesTree;
                })
            }),
        },
        Variant {
            id: "accumulate-12-bits",
            name: "sums keep 12 fractional bits",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.fraction = 12;
                    r.weigh.fraction = 12;
                })
            }),
        },
        Variant {
            id: "accumulate-14-bits",
            name: "sums keep 14 fractional bits",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.fraction = 14;
                    r.weigh.fraction = 14;
                })
            }),
        },
        Variant {
            id: "accumulate-22-bits",
            name: "sums keep 22 fractional bits",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.fraction = 22;
                    r.weigh.fraction = 22;
                })
            }),
        },
        Variant {
            id: "accumulate-25-bits",
            name: "sums keep 25 fractional bits",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.fraction = 25;
                    r.weigh.fraction = 25;
                })
            }),
        },
        Variant {
            id: "groups-of-4",
            name: "products are summed in groups of 4",
            test: Test::Step(|plan, i| {
                at(plan, i, PRODUCTS, |r| {
                    r.dot.group = 4;
                    r.weigh.group = 4;
                })
            }),
        },
        Variant {
            id: "groups-of-8",
            name: "products are summed in groups of 8",
            test: Test::Step(|plan, i| {
                at(plan, i, CODES, |r| {
                    r.dot.group = 8;
                    r.weigh.group = 8;
                })
            }),
        },
        Variant {
            id: "groups-of-16",
            name: "half products are summed in groups of 16",
            test: Test::Step(|plan, i| at(plan, i, HALVES, |r| r.dot.group = 16)),
        },
        Variant {
            id: "groups-of-32",
            name: "products are summed in groups of 32",
            test: Test::Step(|plan, i| {
                at(plan, i, CODES, |r| {
                    r.dot.group = 32;
                    r.weigh.group = 32;
                })
            }),
        },
    ],
};
