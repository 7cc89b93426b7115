//! Causes switched on for chosen blocks: the what-if subject, `cpu+mask-outside@9-14+true-exp`.
//!
//! ```text
//! SELECTION = BLOCKS ["/" KERNEL]      BLOCKS = RANGE ("," RANGE)*      RANGE = N | N "-" M
//! ```

use super::Variant;
use crate::engine::spec::Change;
use crate::plan::{Plan, Step};
use std::fmt;
use std::str::FromStr;

/// Which steps a cause is switched on at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selection {
    /// Blocks, as inclusive ranges; all when empty.
    pub blocks: Vec<(usize, usize)>,
    /// A kernel by name (`qkv`); all without.
    pub kernel: Option<String>,
}

/// Why a profile cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// The catalogue has no such cause.
    #[error("no cause is called \"{id}\"; `blockscope causes` lists them{}", suggestion.as_ref().map(|s| format!(" (nearest: {s})")).unwrap_or_default())]
    UnknownCause {
        /// What was given.
        id: String,
        /// The nearest id.
        suggestion: Option<&'static str>,
    },
    /// The selection cannot be read.
    #[error("expected blocks such as 9-14 or 3,7, or 12/qkv; found \"{text}\" behind cause \"{id}\"")]
    BadSelection {
        /// The cause.
        id: String,
        /// What was given.
        text: String,
    },
    /// The cause has no place in the blocks chosen.
    #[error("cause \"{id}\" has no place in {selection}; `blockscope causes show {id}` lists its sites")]
    NoSite {
        /// The cause.
        id: String,
        /// What was chosen.
        selection: Selection,
    },
}

/// Causes with their selections, in order.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The causes.
    pub causes: Vec<(&'static Variant, Selection)>,
}

impl Profile {
    /// The profile of an engine's changes.
    ///
    /// # Errors
    /// When a cause or a selection does not exist.
    pub fn new(changes: &[Change]) -> Result<Self, ProfileError> {
        let causes = changes.iter().map(|change| {
            let id = &change.cause;
            let unknown = || ProfileError::UnknownCause { id: id.clone(), suggestion: nearest(id) };
            let (_, variant) = super::find(id).ok_or_else(unknown)?;
            let text = change.blocks.as_deref().unwrap_or("");
            let bad = || ProfileError::BadSelection { id: id.clone(), text: text.to_owned() };
            let selection = if text.is_empty() { Selection::default() } else { text.parse().map_err(|()| bad())? };
            Ok((variant, selection))
        });
        Ok(Self { causes: causes.collect::<Result<_, _>>()? })
    }

    /// The plan of the subject.
    ///
    /// # Errors
    /// When a cause has no place in the blocks chosen.
    pub fn apply(&self, plan: &Plan) -> Result<Plan, ProfileError> {
        let mut changed = plan.clone();
        for (variant, selection) in &self.causes {
            let chosen: Vec<usize> =
                plan.steps.iter().filter(|step| selection.contains(step)).map(|step| step.index).collect();
            let places = chosen.into_iter().filter(|&step| variant.apply(&mut changed, step)).count();
            if places == 0 {
                return Err(ProfileError::NoSite { id: variant.id.to_owned(), selection: selection.clone() });
            }
        }
        Ok(changed)
    }
}

impl Selection {
    /// One kernel of one block.
    pub fn of(step: &Step) -> Self {
        Self { blocks: vec![(step.block, step.block)], kernel: Some(step.kernel.to_owned()) }
    }

    /// Whether a step is chosen.
    pub fn contains(&self, step: &Step) -> bool {
        let block = self.blocks.is_empty() || self.blocks.iter().any(|&(a, b)| (a..=b).contains(&step.block));
        block && self.kernel.as_ref().is_none_or(|kernel| kernel == step.kernel)
    }
}

impl FromStr for Selection {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (blocks, kernel) = text.split_once('/').map_or((text, None), |(b, k)| (b, Some(k.to_owned())));
        let number = |text: &str| text.parse::<usize>().ok().filter(|&n| n <= 70);
        let range = |part: &str| match part.split_once('-') {
            Some((a, b)) => Some((number(a)?, number(b)?)).filter(|(a, b)| a <= b),
            None => number(part).map(|n| (n, n)),
        };
        let blocks = blocks.split(',').map(range).collect::<Option<Vec<_>>>().ok_or(())?;
        if kernel.as_deref() == Some("") { Err(()) } else { Ok(Self { blocks, kernel }) }
    }
}

impl fmt::Display for Selection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |&(a, b): &(usize, usize)| if a == b { a.to_string() } else { format!("{a}-{b}") };
        if self.blocks.is_empty() {
            f.write_str("0-70")?;
        }
        f.write_str(&self.blocks.iter().map(range).collect::<Vec<_>>().join(","))?;
        self.kernel.as_ref().map_or(Ok(()), |kernel| write!(f, "/{kernel}"))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (variant, selection)) in self.causes.iter().enumerate() {
            let plus = if i == 0 { "" } else { "+" };
            match selection.blocks.is_empty() && selection.kernel.is_none() {
                true => write!(f, "{plus}{}", variant.id)?,
                false => write!(f, "{plus}{}@{selection}", variant.id)?,
            }
        }
        Ok(())
    }
}

/// Ascending numbers as ranges: `0-4,7`.
pub(super) fn ranges(numbers: &[usize]) -> String {
    let mut out: Vec<(usize, usize)> = Vec::new();
    for &n in numbers {
        match out.last_mut() {
            Some((_, end)) if *end + 1 == n => *end = n,
            _ => out.push((n, n)),
        }
    }
    Selection { blocks: out, kernel: None }.to_string()
}

/// The id that shares the most letter pairs with a misspelt one.
fn nearest(id: &str) -> Option<&'static str> {
    let pairs = |s: &str| s.as_bytes().windows(2).map(<[u8]>::to_vec).collect::<Vec<_>>();
    let wanted = pairs(id);
    let shared = |other: &str| pairs(other).iter().filter(|p| wanted.contains(p)).count();
    let best = super::variants().max_by_key(|(_, v)| (shared(v.id), std::cmp::Reverse(v.id.len())))?.1.id;
    (shared(best) * 2 >= wanted.len()).then_some(best)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selections_are_parsed_and_printed_back() {
        for text in ["9-14", "3,7", "12/qkv", "0-4,9,56-61/attended"] {
            assert_eq!(text.parse::<Selection>().unwrap().to_string(), text, "round trip");
        }
        for text in ["", "71", "9-", "14-9", "x", "3/"] {
            assert!(text.parse::<Selection>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_misspelt_cause_names_its_neighbour() {
        let change = Change { cause: "mask-outsid".to_owned(), blocks: None };
        let error = Profile::new(&[change]).unwrap_err();
        assert!(error.to_string().contains("mask-outside"), "{error}");
    }
}
