//! `blockscope attention`: one query's attention, window or global.

use super::explain::around;
use super::sources::{Look, Opened};
use super::{Exit, Failure, output};
use crate::engine::reference;
use crate::engine::trace::{self, Place};
use crate::geometry::window;
use crate::plan::{Detail, Op, names};
use clap::Args;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Block 0 to 70, but 39, which has no attention.
    #[arg(long, value_name = "N")]
    block: usize,
    /// Head.
    #[arg(long, value_name = "H", default_value_t = 0)]
    head: usize,
    /// Window, column and row; the ViT (blocks 31 to 38) has none.
    #[arg(long, value_name = "X,Y", default_value = "0,0")]
    window: String,
    /// Natural index (y * 8 + x) of the query in its window; its token in the ViT.
    #[arg(long, value_name = "Q", default_value_t = 0)]
    query: usize,
    #[command(flatten)]
    look: Look,
}

pub(super) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let Opened { loaded, mut engine, plan } = arguments.look.open(Detail::Needed)?;
    let (block, head) = (arguments.block, arguments.head);
    let name = names::inside(block, "attended");
    let Some(step) = plan.tensors.get(&name).and_then(|info| info.step) else {
        return Err(Failure::ask(format_args!(
            "expected a block of 0 to 70 with attention (39 has none); found {block}"
        )));
    };
    let size = plan.shape(&name).size;
    let (heads, place) = match &plan.steps[step].op {
        Op::WindowAttention(op) => (op.heads, window_place(arguments, op.grid(size).windows)?),
        Op::GlobalAttention(op) => (op.heads, token_place(arguments, size.tokens())?),
        other => return Err(Failure::Fault(format!("{} writes {name}", other.word()))),
    };
    if head >= heads {
        return Err(Failure::ask(format_args!("--head: block {block} has heads 0 to {}; found {head}", heads - 1)));
    }
    let features = loaded.input.features.clone();
    let found = around(&mut *engine, &plan, &loaded.model, features, step)?;
    let sources = reference::Sources { plan: &plan, model: &loaded.model, tensors: &found };
    let record = trace::attention(&plan.steps[step], sources, head, place)?;
    if arguments.look.json {
        output::json(&serde_json::to_value(&record).map_err(|e| Failure::Fault(e.to_string()))?);
    } else {
        trace::text::attention_lines(&record).iter().for_each(output::line);
    }
    Ok(Exit::Exact)
}

fn window_place(arguments: &Arguments, windows: crate::geometry::Size) -> Result<Place, Failure> {
    let text = &arguments.window;
    let parse = |part: &str| part.trim().parse::<usize>().ok();
    let window = text.split_once(',').and_then(|(x, y)| Some((parse(x)?, parse(y)?)));
    let window = window.filter(|&(x, y)| x < windows.width && y < windows.height).ok_or_else(|| {
        Failure::ask(format_args!("--window expects X,Y inside the block's {windows} windows; found \"{text}\""))
    })?;
    if arguments.query >= window::TOKENS {
        return Err(Failure::ask(format_args!("--query: a window has queries 0 to 63; found {}", arguments.query)));
    }
    Ok(Place::Window(window, arguments.query))
}

fn token_place(arguments: &Arguments, tokens: usize) -> Result<Place, Failure> {
    if arguments.query >= tokens {
        let (last, found) = (tokens - 1, arguments.query);
        return Err(Failure::ask(format_args!("--query: the ViT has tokens 0 to {last}; found {found}")));
    }
    Ok(Place::Token(arguments.query))
}
