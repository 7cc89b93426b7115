//! The page's looks: one style sheet, light and dark by the reader's setting, readable on paper.

/// The style sheet. Verdicts have a shape beside their colour.
pub(super) const SHEET: &str = "
:root { color-scheme: light dark; --ink: #1b2330; --soft: #5a6575; --line: #dde2ea; --paper: #fbfcfd; --panel: #ffffff; --tint: #f1f4f8;
  --exact: #14795a; --zero: #9a6400; --bad: #bf2f4a; --none: #6b7686; --accent: #2a66cf; --shadow: 0 1px 2px rgb(20 30 50 / .06); }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9f1; --soft: #9aa6b7; --line: #2a3340; --paper: #0f1318; --panel: #161b22; --tint: #1b212a;
  --exact: #4cc79b; --zero: #e4b04a; --bad: #ff7d92; --none: #8591a1; --accent: #7fb0ff; --shadow: none; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0 auto; max-width: 1160px; padding: 40px 28px 80px; background: var(--paper); color: var(--ink);
  font: 15px/1.6 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif; }
code, pre { font-family: ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace; font-size: .9em; }
.mark { margin: 0; color: var(--soft); font-size: 12px; letter-spacing: .08em; text-transform: uppercase; }
h1 { font-size: clamp(22px, 4vw, 32px); line-height: 1.25; margin: 6px 0 10px; letter-spacing: -.015em; overflow-wrap: anywhere; }
h1 span { font-size: .75em; } h1.bad span { color: var(--bad); } h1.exact span { color: var(--exact); } h1.none span { color: var(--none); }
.sides { margin: 0 0 20px; color: var(--soft); display: flex; flex-wrap: wrap; gap: 4px 20px; }
.sides code { color: var(--ink); background: var(--tint); padding: 2px 7px; border-radius: 5px; overflow-wrap: anywhere; }
.conclusion { margin: 0 0 18px; border-left: 4px solid var(--none); background: var(--panel); box-shadow: var(--shadow); padding: 14px 18px;
  border-radius: 0 8px 8px 0; font-size: 15.5px; overflow-wrap: anywhere; }
.conclusion.bad { border-color: var(--bad); } .conclusion.exact { border-color: var(--exact); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(190px, 1fr)); gap: 12px; }
.tiles div { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 10px 14px; }
.tiles b { display: block; font-size: 21px; line-height: 1.3; font-weight: 600; font-variant-numeric: tabular-nums; }
.tiles small { font-size: 13px; font-weight: 400; color: var(--soft); } .tiles span { color: var(--soft); font-size: 13px; line-height: 1.4; display: block; }
section { margin-top: 44px; } h2 { font-size: 18px; line-height: 1.35; margin: 0 0 14px; letter-spacing: -.01em; overflow-wrap: anywhere; }
h3 { font-size: 14px; margin: 0 0 6px; color: var(--soft); font-weight: 600; }
.note { color: var(--soft); font-size: 13px; margin: 8px 0 0; max-width: 78ch; } .note code { color: var(--ink); }
.wide { overflow-x: auto; } .strip { display: block; width: 100%; min-width: 700px; height: auto; }
.strip text { fill: var(--soft); font: 11px system-ui, sans-serif; } .strip .scale { text-anchor: end; }
.strip .grid { stroke: var(--line); } .strip .axis { stroke: var(--soft); } .strip .here { stroke: var(--bad); stroke-dasharray: 3 3; }
.strip .accumulated, .key.accumulated { fill: var(--accent); background: var(--accent); } .strip .isolated, .key.isolated { fill: var(--bad); background: var(--bad); }
.strip .ok, .key.ok { fill: var(--exact); background: var(--exact); } .strip .unknown { fill: var(--none); }
.ends { fill: none; stroke-width: 1.6; } .ends.subject { stroke: var(--accent); } .ends.floor { stroke: var(--zero); stroke-dasharray: 5 3; } .key.floor { background: var(--zero); }
circle.ends.subject { fill: var(--accent); stroke: none; } circle.ends.floor { fill: var(--zero); stroke: none; }
span.key { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin: 0 5px 0 4px; vertical-align: -1px; }
.pictures { display: grid; grid-template-columns: repeat(auto-fill, minmax(250px, 1fr)); gap: 18px; }
figure { margin: 0; } figcaption { font-weight: 600; font-size: 13.5px; margin-bottom: 6px; } figcaption::first-letter { text-transform: uppercase; }
.pictures img { display: block; width: 100%; height: auto; image-rendering: pixelated; border: 1px solid var(--line); border-radius: 6px; background: #000; }
.pictures p { color: var(--soft); font-size: 12.5px; line-height: 1.45; margin: 6px 0 0; }
.scroll { max-height: 600px; overflow: auto; border: 1px solid var(--line); border-radius: 8px; background: var(--panel); }
table { border-collapse: separate; border-spacing: 0; width: 100%; font-size: 13px; }
th { position: sticky; top: 0; background: var(--tint); text-align: left; font-weight: 600; color: var(--soft); }
th, td { padding: 6px 12px; border-bottom: 1px solid var(--line); white-space: nowrap; vertical-align: top; }
.whole { max-height: none; }
td.text { white-space: normal; min-width: 300px; } tr:last-child td { border-bottom: 0; } tr.bad td:first-child { box-shadow: inset 3px 0 var(--bad); }
td.number { font-variant-numeric: tabular-nums; } td.name { white-space: normal; min-width: 200px; } td.share { min-width: 150px; font-variant-numeric: tabular-nums; }
meter { width: 64px; height: 10px; vertical-align: -1px; }
.bit-exact { color: var(--exact); } .sign-of-zero { color: var(--zero); } .differs { color: var(--bad); font-weight: 600; } .not-compared { color: var(--none); }
details { margin-top: 14px; } summary { cursor: pointer; color: var(--accent); font-size: 14px; margin-bottom: 10px; }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(340px, 100%), 1fr)); gap: 12px 32px; } ul { padding-left: 18px; margin: 0; } ul.apart { margin-bottom: 14px; max-width: 100ch; } li { margin: 3px 0; }
.maps { display: grid; grid-template-columns: repeat(auto-fill, minmax(220px, 1fr)); gap: 18px; margin-top: 14px; } .maps svg { display: block; width: 100%; max-width: 300px; height: auto; }
.maps rect { stroke: var(--line); } .maps .high { fill: var(--bad); } .maps .low { fill: var(--accent); }
.maps .differs rect { stroke: var(--ink); stroke-width: 2; } .maps .out { stroke: var(--soft); stroke-width: 1.5; fill: none; } .maps .query { fill: none; stroke: var(--ink); stroke-width: 2; }
dl { display: grid; grid-template-columns: minmax(130px, max-content) 1fr; gap: 3px 22px; font-size: 13.5px; margin: 0; } dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
pre { background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: 12px 16px; margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
@media (max-width: 640px) { body { padding: 22px 16px 56px; } section { margin-top: 34px; } .pictures, .maps { grid-template-columns: 1fr 1fr; gap: 12px; }
  .tiles { grid-template-columns: 1fr 1fr; } dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: 8px; } }
@page { margin: 12mm; }
@media print { h1 { font-size: 19pt; } .conclusion { font-size: 10pt; padding: 8px 12px; } .tiles b { font-size: 14pt; } body { max-width: none; padding: 0; font-size: 10pt; line-height: 1.45; background: #fff; } .scroll { max-height: none; overflow: visible; } th { position: static; }
  th, td { padding: 2.5px 5px; font-size: 7.8pt; } td:nth-child(n+6) { min-width: 140px; } td.number, td.text { min-width: 0; } td:nth-child(n+6), td.text, td.name, th { white-space: normal; } td.name { min-width: 120px; } td.share { min-width: 112px; }
  section { margin-top: 18pt; } section:has(svg), section:has(.pictures), figure, tr, li, pre, .tiles div, .conclusion { break-inside: avoid; } h2, summary { break-after: avoid; }
  .strip { min-width: 0; } .strip text { font-size: 14px; } .pictures, .maps { grid-template-columns: repeat(4, 1fr); gap: 12px; } .tiles { grid-template-columns: repeat(4, 1fr); } .note { max-width: none; }
  summary { color: var(--soft); list-style: none; } details:not([open]) summary::after { content: ' (folded away: open it to print it)'; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } }
";
