//! Moving the selection, and keeping it valid.

use super::{Select, Session, Side, Token, Verdict};
use crate::geometry::Size;
use crate::geometry::WindowGrid;
use crate::plan::Op;
use crate::tensor::TensorName;

impl Session {
    pub(super) fn select(&mut self, select: Select) {
        let steps = self.plan.steps.len();
        if !matches!(select, Select::Hover(_)) {
            self.follow = false;
        }
        match select {
            Select::Block(block) => self.select_block(block),
            Select::Step(step) => self.select_step(step.min(steps - 1)),
            Select::Tensor(name) => self.select_tensor(&name),
            Select::StepBy(by) => self.select_step(self.selection.step.saturating_add_signed(by).min(steps - 1)),
            Select::BlockBy(by) => self.select_block(self.selection.block.saturating_add_signed(by).min(70)),
            Select::Channel(channel) => self.selection.channel = channel,
            Select::ChannelBy(by) => {
                let channels = self.plan.shape(&self.selection.tensor).channels as isize;
                self.selection.channel = (self.selection.channel as isize + by).rem_euclid(channels) as usize;
            }
            Select::Rgb(rgb) => self.selection.rgb = rgb,
            Select::Token(token) => self.selection.token = token,
            Select::TokenBy(x, y) => {
                let from = self.selection.token.unwrap_or(Token { x: 0, y: 0 });
                let to = Token { x: from.x.saturating_add_signed(x), y: from.y.saturating_add_signed(y) };
                self.selection.token = Some(to);
            }
            Select::Hover(token) => {
                let size = self.plan.shape(&self.selection.tensor).size;
                self.selection.hover = token.filter(|token| token.x < size.width && token.y < size.height);
                return;
            }
            Select::Window(x, y) => {
                self.selection.window = (x, y);
                if let Some(grid) = self.grid() {
                    self.selection.window = (x.min(grid.windows.width - 1), y.min(grid.windows.height - 1));
                }
                return;
            }
            Select::Head(head) => {
                self.selection.head = head.min(self.heads().saturating_sub(1));
                return;
            }
            Select::Query(query) => {
                self.selection.query = query;
                self.token_of_query();
                return;
            }
            Select::Divergence => {
                let first = self.run.first_isolated.or(self.run.first_accumulated);
                if let Some(step) = first {
                    self.select_step(step);
                }
            }
            Select::Difference => self.select_difference(),
        }
        self.settle();
    }

    fn select_block(&mut self, block: usize) {
        let name = if block >= 70 { "head".to_owned() } else { format!("block-{block}") };
        self.select_tensor(&TensorName::new(name));
    }

    pub(super) fn select_tensor(&mut self, name: &TensorName) {
        let Some(info) = self.plan.tensors.get(name) else {
            let text = format!("the network has no tensor \"{name}\"");
            self.say(super::Severity::Error, super::Place::Canvas, text);
            return;
        };
        let step = info.step.unwrap_or(0);
        self.move_to(step, name.clone());
    }

    pub(super) fn select_step(&mut self, step: usize) {
        self.move_to(step, self.plan.steps[step].name().clone());
    }

    /// Selects a step and one of its tensors; the token stays at the same place of the field.
    fn move_to(&mut self, step: usize, tensor: TensorName) {
        let before = self.plan.tensors.get(&self.selection.tensor).map(|info| info.shape.size);
        let size = self.plan.shape(&tensor).size;
        if let (Some(token), Some(before)) = (self.selection.token, before.filter(|before| *before != size)) {
            self.selection.token = Some(moved(token, before, size));
        }
        self.selection.hover = None;
        self.selection.step = step;
        self.selection.block = self.plan.steps[step].block;
        self.selection.tensor = tensor;
    }

    /// The first differing element of the selected tensor.
    fn select_difference(&mut self) {
        let step = &self.run.steps[self.selection.step];
        let basis = if self.view.basis == super::Basis::Isolated { &step.isolated } else { &step.accumulated };
        let (verdict, first) = (basis.verdict, basis.first);
        match first.filter(|_| verdict != Verdict::Exact) {
            Some((token, channel)) => {
                let width = self.plan.shape(&self.selection.tensor).size.width;
                self.selection.token = Some(Token { x: token % width, y: token / width });
                self.selection.channel = channel;
            }
            None => self.say(super::Severity::Info, super::Place::Canvas, "nothing differs in this tensor"),
        }
    }

    /// Makes the selection valid for the plan, and lets window and query follow the token.
    pub(super) fn settle(&mut self) {
        let steps = self.plan.steps.len();
        self.selection.step = self.selection.step.min(steps - 1);
        if !self.plan.tensors.contains_key(&self.selection.tensor) {
            self.selection.tensor = self.plan.steps[self.selection.step].name().clone();
        }
        self.selection.block = self.plan.steps[self.selection.step].block;
        let shape = self.plan.shape(&self.selection.tensor);
        self.selection.channel = self.selection.channel.min(shape.channels - 1);
        self.selection.rgb = self.selection.rgb.map(|channel| channel.min(shape.channels - 1));
        if let Some(token) = &mut self.selection.token {
            *token = Token { x: token.x.min(shape.size.width - 1), y: token.y.min(shape.size.height - 1) };
        }
        self.selection.head = self.selection.head.min(self.heads().saturating_sub(1));
        if let (Some(grid), Some(token)) = (self.grid(), self.selection.token) {
            if grid.size == shape.size {
                let (window, query) = grid.locate(token.index(shape.size.width));
                (self.selection.window, self.selection.query) = (window, query);
            }
        } else if let (Some(Op::GlobalAttention(_)), Some(token)) = (self.attention_op(), self.selection.token) {
            self.selection.query = token.index(shape.size.width);
        }
        self.goal.change(|wish| wish.shown = self.selection.step);
        self.bell.ring();
    }

    /// The token of a query that was chosen by itself.
    fn token_of_query(&mut self) {
        let shape = self.plan.shape(&self.selection.tensor);
        let token = match self.grid() {
            Some(grid) => {
                self.selection.query = self.selection.query.min(crate::geometry::window::TOKENS - 1);
                grid.token(self.selection.window, self.selection.query)
            }
            None => Some(self.selection.query.min(shape.tokens() - 1)),
        };
        let width = shape.size.width;
        self.selection.token = token.map(|t| Token { x: t % width, y: t / width }).or(self.selection.token);
    }

    /// The attention of the selected block, if it has one.
    pub fn attention_op(&self) -> Option<&Op> {
        self.attention_step().map(|step| &self.plan.steps[step].op)
    }

    /// Its step.
    pub(super) fn attention_step(&self) -> Option<usize> {
        let attention = |op: &Op| matches!(op, Op::WindowAttention(_) | Op::GlobalAttention(_));
        let mut inside = self.plan.steps.iter().filter(|step| step.block == self.selection.block);
        inside.find(|step| attention(&step.op)).map(|step| step.index)
    }

    /// Heads of the selected block's attention; 0 without one.
    pub fn heads(&self) -> usize {
        match self.attention_op() {
            Some(Op::WindowAttention(op)) => op.heads,
            Some(Op::GlobalAttention(op)) => op.heads,
            _ => 0,
        }
    }

    /// The window grid of the selected block, on its own plane.
    pub fn grid(&self) -> Option<WindowGrid> {
        match self.attention_op() {
            Some(Op::WindowAttention(op)) => Some(op.grid(self.plan.shape(&op.input).size)),
            _ => None,
        }
    }

    /// The tensor that the canvas shows of a side.
    pub(super) fn shown_tensor(&self, side: Side) -> Option<crate::tensor::Tensor> {
        let name = match self.view.image {
            super::Image::Tensor => self.selection.tensor.clone(),
            super::Image::Head | super::Image::Output => TensorName::new("head"),
        };
        self.tensor(side, &name).cloned()
    }
}

/// The same place on a plane of another size.
fn moved(token: Token, from: Size, to: Size) -> Token {
    let scale = |at: usize, from: usize, to: usize| ((2 * at + 1) * to / (2 * from)).min(to - 1);
    Token { x: scale(token.x, from.width, to.width), y: scale(token.y, from.height, to.height) }
}
