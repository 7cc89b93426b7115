//! A trace as lines of text.

use super::{Attention, Chain, Group, Number, Stage, Trace};

/// An element's bits, with all the digits that its format has.
pub fn bits(number: Number) -> String {
    format!("{:#0width$x}", number.bits, width = 2 + 2 * number.element.bytes())
}

/// A value with its bits: `0.5 (0x3800)`.
pub fn number(number: Number) -> String {
    format!("{} ({})", number.value(), bits(number))
}

/// The whole story.
pub fn lines(trace: &Trace) -> Vec<String> {
    let Trace { tensor, op, block, token, x, y, channel, .. } = trace;
    let mut out = vec![
        format!("{tensor}, token {token} (x {x}, y {y}), channel {channel}: {op} of block {block}"),
        format!("reads {}", trace.inputs.join(", ")),
    ];
    for stage in &trace.stages {
        match stage {
            Stage::Chain(chain) => out.extend(chain_lines(chain)),
            Stage::Operation { name, formula, operands, result } => {
                let operands: Vec<String> = operands.iter().map(|&n| number(n)).collect();
                out.push(format!("{name} = {formula} = {}   of {}", number(*result), operands.join(", ")));
            }
            Stage::Attention(attention) => out.extend(attention_lines(attention)),
            Stage::Note { text } => out.push(format!("note: {text}")),
        }
    }
    let (result, stored) = (number(trace.result), number(trace.stored));
    out.push(if trace.reproduces {
        format!("result {result}: reproduces the stored value")
    } else {
        format!("result {result}: DOES NOT reproduce the stored value {stored}")
    });
    out
}

fn chain_lines(chain: &Chain) -> Vec<String> {
    let mut out = vec![format!("{}: {} groups", chain.name, chain.groups.len())];
    for (i, group) in chain.groups.iter().enumerate() {
        out.extend(group_lines(i, group));
    }
    out.push(format!("{} sum to {}", chain.name, number(chain.result)));
    out
}

fn group_lines(index: usize, group: &Group) -> Vec<String> {
    let Some(shared) = group.shared else {
        return vec![format!("  group {index}: the accumulator {} passes through", number(group.before))];
    };
    let (fraction, before) = (group.fraction, number(group.before));
    let mut out = vec![format!(
        "  group {index}: E = {shared}, unit 2^{}, accumulator {before} = {} units",
        shared - fraction,
        group.accumulator
    )];
    for term in &group.terms {
        let lost = term.exact - term.units as f64;
        let cut = if lost == 0.0 { String::new() } else { format!(", truncated from {}", term.exact) };
        out.push(format!("    k {:4}: {} * {} = {} units{cut}", term.k, number(term.a), number(term.b), term.units));
    }
    out.push(format!("    sum {} units -> half {}", group.units, number(group.result)));
    out
}

/// One query's attention.
pub fn attention_lines(attention: &Attention) -> Vec<String> {
    let place = match attention.window {
        Some((x, y)) => format!("window ({x}, {y}), query {} (natural)", attention.query),
        None => format!("query token {}", attention.query),
    };
    let mut out = vec![format!("attention of block {}, head {}, {place}", attention.block, attention.head)];
    if attention.token.is_none() {
        out.push("the query lies outside the field: nobody writes its result".to_owned());
    }
    out.push("physical natural  token    prior            score            exponential      weight".to_owned());
    for key in &attention.keys {
        let token = key.token.map_or("outside".to_owned(), |t| t.to_string());
        out.push(format!(
            "{:8} {:7} {token:>7}  {:15}  {:15}  {:15}  {}",
            key.physical,
            key.natural,
            short(key.prior),
            short(key.score),
            short(key.exponential),
            short(key.weight)
        ));
    }
    for add in &attention.adds {
        let rounded = if add.rounded { "   rounded" } else { "" };
        out.push(format!("{:14} = {} + {} = {}{rounded}", add.name, short(add.a), short(add.b), short(add.sum)));
    }
    let adds = attention.adds.len();
    let rounded = attention.adds.iter().filter(|add| add.rounded).count();
    out.push(format!(
        "total {} after {adds} half adds, {rounded} of them rounded; 1 / total = {}",
        number(attention.total),
        number(attention.reciprocal)
    ));
    let outside = attention.keys.iter().filter(|key| key.token.is_none()).count();
    out.push(format!(
        "{outside} keys outside the field take {:.2} % of the denominator; the published weights sum to {}",
        attention.outside_share * 100.0,
        attention.weight_sum
    ));
    let attended: Vec<String> = attention.attended.iter().map(|&n| short(n)).collect();
    out.push(format!("attended {}", attended.join(" ")));
    out
}

fn short(number: Number) -> String {
    format!("{}:{}", bits(number), number.value())
}
