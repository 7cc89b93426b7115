//! One exporter per file: JSON, JUnit, HTML, Markdown, SARIF, CSV.
