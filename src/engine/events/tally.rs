//! Counts, masks and places from the halves of a step, part by part.

use super::classify::{self, Finish};
use super::halves::Part;
use super::{Events, Kind, Kinds, PLACES, Place, head, observed};
use crate::engine::reference::{Sources, activated};
use crate::numerics::f16;
use crate::plan::Step;
use crate::tensor::{Element, Tensor};
use rayon::prelude::*;
use std::collections::BTreeMap;

/// Rows of one task.
const TASK: usize = 256;

pub(super) struct Tally<'a> {
    step: &'a Step,
    finish: Finish,
    channels: usize,
    /// The output as it was computed, where it is known.
    stored: Option<&'a Tensor>,
    events: Events,
    kept: [usize; Kind::ALL.len()],
}

impl<'a> Tally<'a> {
    pub(super) fn new(step: &'a Step, sources: Sources<'a>) -> Self {
        let (tensor, finish) = observed(&step.op);
        let shape = sources.plan.shape(tensor);
        let events = Events {
            step: step.index,
            tensor: tensor.clone(),
            size: shape.size,
            elements: 0,
            counts: BTreeMap::new(),
            places: Vec::new(),
            tokens: vec![Kinds::default(); shape.tokens()],
            unlike: 0,
        };
        let stored = sources.tensors.get(tensor);
        Self { step, finish, channels: shape.channels, stored, events, kept: Default::default() }
    }

    /// Kinds and code of one element of a part.
    fn judge(&self, part: &Part<'_>, index: usize) -> (Kinds, u8) {
        let half = part.halves[index];
        let Some(codes) = part.codes else { return classify::table(self.finish)[usize::from(half.to_bits())] };
        match self.finish {
            Finish::Raw => (classify::raw(half), 0),
            Finish::Plain | Finish::Gemm => (classify::published(half, codes[index]), codes[index]),
            Finish::Silu => {
                let y = activated(half, &self.step.rules);
                let kinds = classify::published(y, codes[index]).with(Kind::Overflow, half.is_infinite());
                (kinds, codes[index])
            }
        }
    }

    /// Whether the stored output has the code, or the half, of an element.
    fn is_stored(&self, token: usize, channel: usize, half: f16, code: u8) -> bool {
        let Some(stored) = self.stored else { return true };
        let bits = stored.bits(token, channel);
        match stored.shape.element {
            Element::E4m3 => bits == u32::from(code),
            Element::F16 => bits == u32::from(half.to_bits()) || half.is_nan() && f16::from_bits(bits as u16).is_nan(),
            Element::F32 => bits == half.to_f32().to_bits() || half.is_nan(),
        }
    }

    /// Counts a part.
    pub(super) fn add(&mut self, part: &Part<'_>) {
        let channels = self.channels;
        let count = |rows: &[usize], first: usize| {
            let mut sets = [0_u64; Kinds::SETS];
            let (mut masks, mut unlike) = (Vec::with_capacity(rows.len()), 0);
            for (i, &token) in rows.iter().enumerate() {
                let mut mask = Kinds::default();
                for channel in 0..channels {
                    let index = (first + i) * channels + channel;
                    let (kinds, code) = self.judge(part, index);
                    sets[usize::from(kinds.0)] += 1;
                    mask = mask.and(kinds);
                    if self.stored.is_some() {
                        unlike += u64::from(!self.is_stored(token, channel, part.halves[index], code));
                    }
                }
                masks.push(mask);
            }
            (masks, sets, unlike)
        };
        let tasks: Vec<_> = part.rows.par_chunks(TASK).enumerate().map(|(i, rows)| count(rows, i * TASK)).collect();
        let mut masks = Vec::with_capacity(part.rows.len());
        for (found, sets, unlike) in tasks {
            masks.extend(found);
            self.events.unlike += unlike;
            for (set, count) in sets.into_iter().enumerate().filter(|(_, count)| *count > 0) {
                self.events.elements += count;
                for kind in Kinds(set as u8).iter() {
                    *self.events.counts.entry(kind).or_default() += count;
                }
            }
        }
        self.list(part, &masks);
        for (&token, mask) in part.rows.iter().zip(masks) {
            self.events.tokens[token] = mask;
        }
    }

    /// Lists the places of kinds that have room left.
    fn list(&mut self, part: &Part<'_>, masks: &[Kinds]) {
        for (row, (&token, mask)) in part.rows.iter().zip(masks).enumerate() {
            let full: Kinds = Kind::ALL.iter().copied().filter(|kind| self.kept[*kind as usize] >= PLACES).collect();
            if mask.without(full).is_empty() {
                continue;
            }
            for channel in 0..self.channels {
                let index = row * self.channels + channel;
                let (kinds, code) = self.judge(part, index);
                for kind in kinds.without(full).iter() {
                    if self.kept[kind as usize] < PLACES {
                        self.kept[kind as usize] += 1;
                        self.events.places.push(self.place(token, channel, kind, part.halves[index], code));
                    }
                }
            }
        }
    }

    fn place(&self, token: usize, channel: usize, kind: Kind, half: f16, code: u8) -> Place {
        let code = (self.finish != Finish::Raw).then_some(code);
        Place { token, channel, kind, head: head(self.step, channel), half: half.to_bits(), code }
    }

    /// Adds overflows that the halves of a part do not show, as rows of the part with channels.
    pub(super) fn overflowed(&mut self, part: &Part<'_>, places: &[(usize, usize)]) {
        for &(row, channel) in places {
            let index = row * self.channels + channel;
            let (kinds, code) = self.judge(part, index);
            if kinds.contains(Kind::Overflow) {
                continue;
            }
            let token = part.rows[row];
            *self.events.counts.entry(Kind::Overflow).or_default() += 1;
            self.events.tokens[token] = self.events.tokens[token].with(Kind::Overflow, true);
            self.events.places.push(self.place(token, channel, Kind::Overflow, part.halves[index], code));
        }
    }

    pub(super) fn finish(self) -> Events {
        let mut events = self.events;
        events.places.sort_unstable();
        let mut kept = [0; Kind::ALL.len()];
        events.places.retain(|place| {
            kept[place.kind as usize] += 1;
            kept[place.kind as usize] <= PLACES
        });
        events
    }
}
