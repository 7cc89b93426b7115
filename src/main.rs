//! The `blockscope` program.

fn main() {}
