//! The words of the window, each explained once.
//!
//! Tooltips and the glossary panel read the same list; [`find`] is how a control names its term.

/// One word and what it means here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The word, as controls name it.
    pub name: &'static str,
    /// One sentence, for tooltips.
    pub short: &'static str,
    /// More, for the panel.
    pub long: &'static str,
}

/// All terms, by name.
pub const TERMS: &[Term] = &[
    Term {
        name: "accumulated",
        short: "Each side runs on its own previous result, as in a real frame.",
        long: "One bad kernel makes everything behind it differ: the accumulated verdict shows what a user of the port sees. The isolated verdict beside it tells which kernel is to blame.",
    },
    Term {
        name: "bit-exact",
        short: "Every byte is equal, the sign of zeros included. The only pass.",
        long: "There is no tolerance. Floating-point measures (largest difference, rmse, PSNR, cosine) are shown too, but they never decide.",
    },
    Term {
        name: "block",
        short: "One of the network's 71 units: a window block, a ViT block, or the bridge between them.",
        long: "Blocks 0-30 go down the levels, 31-38 are the ViT at the bottom, 39 is the bridge, 40-70 go up again. A block is several kernels.",
    },
    Term {
        name: "boundary",
        short: "A named tensor between two blocks: what captures carry and verdicts are about.",
        long: "Other implementations publish digests of 83 boundaries; this program adds transition-30-31, the ViT's first state.",
    },
    Term {
        name: "cause",
        short: "A known way in which implementations part, as an arithmetic or graph variant that can be switched on.",
        long: "A cause is confirmed when switching it on reproduces the subject's bytes. The ranking shows how many differing bytes each cause explains.",
    },
    Term {
        name: "code",
        short: "The eight bits of an E4M3 value.",
        long: "One sign, four exponent bits (bias 7), three mantissa bits. The largest finite value is 448 (0x7e); 0x7f and 0xff are NaN and decode to zeros here.",
    },
    Term {
        name: "code distance",
        short: "How many representable values apart two codes are, with a sign.",
        long: "Codes are put in the order of their values; +0 and -0 count as one place. A distance of 1 is the smallest possible difference.",
    },
    Term {
        name: "cosine normalization",
        short: "Queries and keys of a head are divided by their length, so that a score is a cosine.",
        long: "32 squares are added by a tree of half adds; 1/sqrt of the sum scales the vector. A zero vector gives 0 * infinity = NaN, which publishes as +0.",
    },
    Term {
        name: "differs",
        short: "At least one value differs by more than the sign of a zero.",
        long: "See the classes in Statistics: one code apart, several codes apart, NaN, saturation, unwritten.",
    },
    Term {
        name: "E4M3",
        short: "The 8-bit float that every activation is published in.",
        long: "e4m3fn: sign, four exponent bits with bias 7, three mantissa bits; subnormal step 2^-9, smallest normal 2^-6, largest 448, no infinity.",
    },
    Term {
        name: "epilogue",
        short: "What happens to a dot product before it is stored: SiLU where named, then publication.",
        long: "The FP8 matrix product's epilogue publishes -0 as 0x00; other publications keep the sign of a zero.",
    },
    Term {
        name: "event",
        short: "Something special that a kernel met: NaN -> +0, -0, saturation, overflow.",
        long: "Events are counted per kernel, listed with their place, and drawn on the picture.",
    },
    Term {
        name: "exponential",
        short: "A bit trick on a half: multiply-add, clamp, shift the bits.",
        long: "On [1, 2) the shift turns the mantissa into exponent and mantissa. The result follows exp(s) up to a constant factor that the softmax divides out. No maximum is subtracted.",
    },
    Term {
        name: "F13",
        short: "The tensor core's fixed-point sum: 16 products and the accumulator share an exponent, 13 bits behind the point.",
        long: "Every term is cut (toward zero) to a multiple of 2^(E-13), where E is the largest exponent among accumulator and products (of the operands, not of the product). The exact integer sum is rounded once to a half.",
    },
    Term {
        name: "field",
        short: "The padded frame that the network runs at.",
        long: "The valid size is padded until all six levels fit; 512x512 runs at 576x512. What lies outside the valid rectangle mirrors the image.",
    },
    Term {
        name: "group",
        short: "16 products (FP8) or 8 (f16) that the tensor core adds at once.",
        long: "Groups are taken in the order of K; the half result of one is the accumulator of the next. Another order changes bits.",
    },
    Term {
        name: "half",
        short: "IEEE binary16: every + and * between the tensor core's groups rounds to it.",
        long: "11 significant bits, largest 65504. hfma rounds the exact a*b+c once; the cheap spelling through f32 rounds twice and differs rarely.",
    },
    Term {
        name: "head",
        short: "One of a block's attention heads: 32 channels of queries, keys and values.",
        long: "The same word also names the network's output, f32 RGB residual and blend logit.",
    },
    Term {
        name: "isolated",
        short: "Each step gets the reference's inputs, so that one bad kernel lights one step.",
        long: "For a recording only boundaries are known: a block is then re-run from the recording's own previous boundary.",
    },
    Term {
        name: "kernel",
        short: "One step of a block: a matrix product, a normalization, an attention, a pool or a merge.",
        long: "The network is 241 kernels and more. The debugger can step by kernel or by block.",
    },
    Term {
        name: "level",
        short: "A plane of tokens: each level halves the one above.",
        long: "The field, then levels 0 to 5. Sides are rounded up to multiples of 4.",
    },
    Term {
        name: "NaN -> +0",
        short: "A NaN half is published as code 0x00.",
        long: "Hardware's own conversion gives 0x7f; the network's rule is +0. Tokens outside the field make such NaN in every shifted window (0 * infinity).",
    },
    Term {
        name: "natural order",
        short: "Window tokens row by row: n = y*8 + x.",
        long: "Queries are in natural order. Keys, values, the prior and the softmax tree use the physical order.",
    },
    Term {
        name: "not compared",
        short: "No verdict, with the reason. Never counted as a pass.",
        long: "The step has not run on one side, the capture does not carry it, or a job failed.",
    },
    Term {
        name: "out of field",
        short: "A window token outside the plane: a zero vector that still takes part in the softmax.",
        long: "Its score is the prior, its exponential enters the denominator. Ports that mask these tokens differ at the edges of shifted windows.",
    },
    Term {
        name: "partition",
        short: "Split K of the ViT: parts that start from zero and are then added by half adds.",
        long: "The first part starts from the seed. Parts are added in order.",
    },
    Term {
        name: "phase",
        short: "How far a block's window grid is shifted: 0 (0,0), 1 (4,4), 2 (4,0), 3 (0,4).",
        long: "The phase advances by one at every window block of a level, and the decoder continues its encoder's count. Step from block to block to see the grid move.",
    },
    Term {
        name: "physical order",
        short: "Window tokens in 4x4 tiles: p = (y/4)*32 + (x/4)*16 + (y%4)*4 + x%4.",
        long: "Keys and values lie in this order, and sums depend on it.",
    },
    Term {
        name: "prior",
        short: "A learned half for each (head, query, key), the first accumulator of a score.",
        long: "Also called the position bias. Out-of-field keys score exactly their prior.",
    },
    Term {
        name: "publication",
        short: "Rounding a half to the E4M3 code that is stored.",
        long: "Round to nearest even, saturating at 448. NaN gives +0. A value is always rounded to a half first, never from f32 directly.",
    },
    Term {
        name: "reference",
        short: "The side that is taken as right: an engine or a recording.",
        long: "Pick any two sides at any time; results are kept per pair.",
    },
    Term {
        name: "saturation",
        short: "A magnitude above 448 is stored as 448 (0x7e or 0xfe).",
        long: "Values that round above 448, and infinity, saturate with their sign.",
    },
    Term {
        name: "seed",
        short: "The first accumulator of a matrix product: the scaled residual, or zero.",
        long: "seed = half(residual * scale); -0 is used as +0. Adding the residual at the end instead changes bits.",
    },
    Term {
        name: "sign of zero",
        short: "Equal, but +0 stands where -0 should, or the reverse. Counted apart; still no pass.",
        long: "A zero's sign is seldom visible in an image, and often the first trace of another epilogue.",
    },
    Term {
        name: "SiLU",
        short: "The activation, in five half steps with a cubic in place of the sigmoid.",
        long: "t = clamp(x, -4, 4); p = hfma(-0.0559, |t|, 0.4473); p = hfma(t, p, 0.8945); y = x*p, each rounded to a half.",
    },
    Term {
        name: "softmax tree",
        short: "63 half adds in one fixed order give a window's denominator.",
        long: "b[g][j] = e[g+16j] + e[g+16j+8]; four b make a t; even and odd t are added apart; the total is even + odd. A sequential sum rounds elsewhere.",
    },
    Term {
        name: "subject",
        short: "The side under test: an engine, an engine with a cause switched on, or a recording.",
        long: "Feeding is isolated or accumulated; both verdicts are kept.",
    },
    Term {
        name: "token",
        short: "A pixel of a level, with all its channels.",
        long: "token = y * width + x; channels are its row.",
    },
    Term {
        name: "valid rectangle",
        short: "The part of the plane that shows the image; the rest is padding.",
        long: "Padding mirrors the image. It is computed like everything else, and it leaks into the valid part through attention.",
    },
    Term {
        name: "ViT",
        short: "Blocks 31-38: global attention over all level-5 tokens, 1024 channels, 32 heads.",
        long: "Tokens are padded to a multiple of 64; padding keys score 0 and are taken out of the denominator by one half add.",
    },
    Term {
        name: "window",
        short: "8x8 tokens that attend to each other.",
        long: "The grid starts at minus the phase's shift and covers the plane; windows at its edges reach outside.",
    },
];

/// A term by its name.
pub fn find(name: &str) -> Option<&'static Term> {
    TERMS.iter().find(|term| term.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_sorted_unique_and_short_enough_for_a_tooltip() {
        for pair in TERMS.windows(2) {
            let (a, b) = (pair[0].name.to_lowercase(), pair[1].name.to_lowercase());
            assert!(a < b, "\"{a}\" stands before \"{b}\"");
        }
        for term in TERMS {
            assert!(term.short.len() <= 130, "\"{}\": {} characters", term.name, term.short.len());
            assert!(term.short.is_ascii() && term.long.is_ascii() && term.long.ends_with('.'), "{}", term.name);
        }
        assert_eq!(find("phase").map(|term| term.name), Some("phase"), "found by name");
        assert_eq!(find("no such word"), None, "unknown words have no term");
    }
}
