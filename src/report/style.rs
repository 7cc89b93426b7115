//! The page's looks: one style sheet, light and dark by the reader's setting, readable on paper.

/// The style sheet. Verdicts have a shape beside their colour.
pub(super) const SHEET: &str = "
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d9dee6; --paper: #ffffff; --panel: #f5f7fa;
  --exact: #1b7f5c; --zero: #b07400; --bad: #c2334d; --none: #7a8494; --accent: #2f6fde; }
@media (prefers-color-scheme: dark) { :root { --ink: #e3e8f0; --soft: #98a4b5; --line: #2c3542; --paper: #12161c;
  --panel: #1a2029; --exact: #4cc79b; --zero: #e4b04a; --bad: #ff7a8f; --none: #7d8898; --accent: #7fb0ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 1180px; padding: 32px 24px 64px; background: var(--paper); color: var(--ink);
  font: 15px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif; }
h1 { font-size: 24px; margin: 0 0 4px; letter-spacing: -0.01em; } h2 { font-size: 17px; margin: 40px 0 12px; }
p.sides { margin: 0 0 20px; color: var(--soft); } code, .mono { font-family: ui-monospace, 'SF Mono', Menlo, Consolas, monospace; font-size: 13px; }
.conclusion { border-left: 4px solid var(--accent); background: var(--panel); padding: 14px 18px; border-radius: 0 6px 6px 0; font-size: 16px; }
.conclusion.bad { border-color: var(--bad); } .conclusion.exact { border-color: var(--exact); }
table { border-collapse: collapse; width: 100%; font-size: 13px; } .scroll { max-height: 560px; overflow: auto; border: 1px solid var(--line); border-radius: 6px; }
th { position: sticky; top: 0; background: var(--panel); text-align: left; font-weight: 600; color: var(--soft); }
th, td { padding: 5px 10px; border-bottom: 1px solid var(--line); white-space: nowrap; } td.wide { white-space: normal; }
tr:last-child td { border-bottom: 0; } td.number { text-align: right; font-variant-numeric: tabular-nums; }
tr.kernel td:first-child { padding-left: 26px; color: var(--soft); }
.bit-exact { color: var(--exact); } .sign-of-zero { color: var(--zero); } .differs { color: var(--bad); font-weight: 600; } .not-compared { color: var(--none); }
.pictures { display: flex; gap: 16px; flex-wrap: wrap; } figure { margin: 0; flex: 1 1 300px; } figcaption { color: var(--soft); font-size: 12.5px; margin-top: 6px; }
figure img { width: 100%; height: auto; image-rendering: pixelated; border: 1px solid var(--line); border-radius: 4px; background: #000; }
svg text { fill: var(--soft); font: 11px system-ui, sans-serif; } .grid { stroke: var(--line); } .strip { width: 100%; height: auto; }
.bar-a { fill: var(--accent); } .bar-i { fill: var(--bad); } .bar-ok { fill: var(--exact); } .bar-none { fill: var(--none); opacity: .5; }
ul { padding-left: 20px; margin: 8px 0; } dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 18px; font-size: 13.5px; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 12px 14px; overflow: auto; }
.heads { display: flex; gap: 28px; flex-wrap: wrap; } .heads svg { width: 220px; height: 240px; }
@media print { .scroll { max-height: none; } }
";
