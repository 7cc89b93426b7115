//! What every panel is handed: the session to draw, the window's memory, and a place for commands.

use super::Memory;
use super::mark::Mark;
use super::theme::Theme;
use crate::geometry::{Phase, Size, WindowGrid};
use crate::plan::Op;
use crate::session::{Command, EventKind, Judgement, Select, Session, Side, SideState, Verdict, ViewChange};
use std::collections::BTreeMap;
use std::ops::Range;
use std::time::Duration;

/// One frame's worth of drawing.
pub(super) struct Desk<'a> {
    /// What is drawn.
    pub(super) session: &'a Session,
    /// What the window remembers by itself.
    pub(super) memory: &'a mut Memory,
    /// What the person asked for.
    pub(super) out: &'a mut Vec<Command>,
}

impl Desk<'_> {
    /// Asks for something.
    pub(super) fn send(&mut self, command: Command) {
        self.out.push(command);
    }

    /// Asks for another view.
    pub(super) fn view(&mut self, change: ViewChange) {
        self.send(Command::View(change));
    }

    /// Asks for another selection.
    pub(super) fn select(&mut self, select: Select) {
        self.send(Command::Select(select));
    }
}

/// The mark of a verdict.
pub(super) fn mark(verdict: Verdict) -> Mark {
    match verdict {
        Verdict::Exact => Mark::Exact,
        Verdict::ZeroSign => Mark::ZeroSign,
        Verdict::Differs => Mark::Differs,
        Verdict::NotCompared => Mark::NotCompared,
    }
}

/// A judgement in one line: verdict with its numbers, or the reason for none.
pub(super) fn words(judgement: &Judgement) -> String {
    match judgement.verdict {
        Verdict::NotCompared if judgement.reason.is_empty() => "not compared yet".to_owned(),
        Verdict::NotCompared => format!("not compared: {}", judgement.reason),
        Verdict::Exact => format!("exact, {} elements", super::format::count(judgement.total)),
        Verdict::ZeroSign => format!("only \u{b1}0, {} elements", super::format::count(judgement.differing)),
        Verdict::Differs => format!(
            "{} of {} differ ({}), by {} codes at most",
            super::format::count(judgement.differing),
            super::format::count(judgement.total),
            super::format::share(judgement.share()),
            judgement.max_distance,
        ),
    }
}

/// What a block's steps add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct BlockSummary {
    /// The steps of the block.
    pub(super) steps: Range<usize>,
    /// Worst accumulated verdict; exact only when the block's last step was compared.
    pub(super) accumulated: Mark,
    /// Worst isolated verdict, likewise.
    pub(super) isolated: Mark,
    /// Differing share of the worst step, accumulated and isolated.
    pub(super) share: (f64, f64),
    /// Events by kind.
    pub(super) events: BTreeMap<EventKind, u64>,
    /// The subject's time.
    pub(super) time: Duration,
    /// Whether one of its steps runs now, and whether one failed.
    pub(super) running: bool,
    /// Whether a step failed.
    pub(super) failed: bool,
}

/// Sums up all blocks, in order.
pub(super) fn blocks(session: &Session) -> Vec<BlockSummary> {
    let plan = session.plan();
    let count = plan.steps.last().map_or(0, |step| step.block + 1);
    let mut all = vec![BlockSummary::default(); count];
    for step in &plan.steps {
        let summary = &mut all[step.block];
        if summary.steps.is_empty() {
            summary.steps = step.index..step.index;
        }
        summary.steps.end = step.index + 1;
        let Some(state) = session.run().steps.get(step.index) else { continue };
        let last = plan.steps.get(step.index + 1).is_none_or(|next| next.block != step.block);
        fold(&mut summary.accumulated, mark(state.accumulated.verdict), last);
        fold(&mut summary.isolated, mark(state.isolated.verdict), last);
        summary.share.0 = summary.share.0.max(state.accumulated.share());
        summary.share.1 = summary.share.1.max(state.isolated.share());
        for (&kind, &count) in &state.events {
            *summary.events.entry(kind).or_default() += count;
        }
        for side in [Side::Subject, Side::Reference] {
            match state.side(side) {
                SideState::Running => summary.running = true,
                SideState::Failed(_) => summary.failed = true,
                SideState::Done { duration } if side == Side::Subject => summary.time += *duration,
                SideState::Done { .. } | SideState::Waiting | SideState::Absent => {}
            }
        }
    }
    all
}

/// The worst verdict so far; a block that is not compared to its end is not exact.
fn fold(so_far: &mut Mark, next: Mark, last: bool) {
    *so_far = match (*so_far, next) {
        (a, Mark::NotCompared) if last && a <= Mark::Exact => Mark::NotCompared,
        (a, b) => a.max(b),
    };
}

/// Draws the mark of events that somebody should look at: a dot for NaN, saturation and overflow, a ring for -0.
/// Ties and subnormals are everywhere and leave no mark.
pub(super) fn event_mark(painter: &egui::Painter, events: &BTreeMap<EventKind, u64>, at: egui::Pos2, theme: &Theme) {
    let has = |kind: EventKind| events.get(&kind).is_some_and(|&count| count > 0);
    if [EventKind::NanToZero, EventKind::Saturation, EventKind::Overflow].into_iter().any(has) {
        painter.circle_filled(at, 2.0, theme.event);
    } else if has(EventKind::MinusZero) {
        painter.circle_stroke(at, 1.7, egui::Stroke::new(1.0, theme.event));
    }
}

/// The phase of a block's windows, and their grid on the block's plane.
pub(super) fn phase(session: &Session, block: usize) -> Option<(Phase, WindowGrid)> {
    session.plan().steps.iter().filter(|step| step.block == block).find_map(|step| match &step.op {
        Op::WindowAttention(op) => Some((op.phase, op.grid(session.plan().shape(&op.input).size))),
        _ => None,
    })
}

/// The size of the selected tensor's plane and its channels.
pub(super) fn extent(session: &Session) -> Option<(Size, usize)> {
    let info = session.plan().tensors.get(&session.selection().tensor)?;
    Some((info.shape.size, info.shape.channels))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_exact_only_when_it_was_compared_to_its_end() {
        let sum = |marks: &[Mark]| {
            let mut so_far = Mark::default();
            for (index, &next) in marks.iter().enumerate() {
                fold(&mut so_far, next, index + 1 == marks.len());
            }
            so_far
        };
        use Mark::{Differs, Exact, NotCompared, ZeroSign};
        assert_eq!(sum(&[Exact, Exact]), Exact, "all exact");
        assert_eq!(sum(&[NotCompared, Exact]), Exact, "only the boundary is known");
        assert_eq!(sum(&[Exact, NotCompared]), NotCompared, "not run to its end");
        assert_eq!(sum(&[Differs, NotCompared]), Differs, "a difference stays one");
        assert_eq!(sum(&[ZeroSign, Exact]), ZeroSign, "the worst counts");
    }
}
