//! The file formats of reports, by name and by ending.

/// A file format of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// One self-contained page with pictures.
    Html,
    /// The whole report for programs.
    Json,
    /// A test case per boundary and kernel.
    Junit,
    /// A result per divergent kernel, for code-scanning tools.
    Sarif,
    /// For an issue thread.
    Markdown,
    /// A line per tensor.
    Csv,
}

impl Format {
    /// All formats.
    pub const ALL: [Self; 6] = [Self::Html, Self::Json, Self::Junit, Self::Sarif, Self::Markdown, Self::Csv];

    /// The name on a command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Html => "html",
            Self::Json => "json",
            Self::Junit => "junit",
            Self::Sarif => "sarif",
            Self::Markdown => "markdown",
            Self::Csv => "csv",
        }
    }

    /// The file name in a folder of reports.
    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Html => "report.html",
            Self::Json => "report.json",
            Self::Junit => "junit.xml",
            Self::Sarif => "report.sarif",
            Self::Markdown => "report.md",
            Self::Csv => "report.csv",
        }
    }

    /// The format of a name, or of a file's ending.
    pub fn parse(text: &str) -> Option<Self> {
        let ending = text.rsplit('.').next().unwrap_or(text);
        match ending.to_ascii_lowercase().as_str() {
            "html" | "htm" => Some(Self::Html),
            "json" => Some(Self::Json),
            "junit" | "xml" => Some(Self::Junit),
            "sarif" => Some(Self::Sarif),
            "markdown" | "md" => Some(Self::Markdown),
            "csv" => Some(Self::Csv),
            _ => None,
        }
    }
}
