//! The committed SPIR-V is what the committed GLSL compiles to, and no driver may contract its float arithmetic.
//! `UPDATE=1` writes the generated header and the binaries anew.
//!
//! A shader may say in its head what it is built for and as what:
//! ```text
//! // target: vulkan1.3                 (default vulkan1.1)
//! // build: gemm_fast_32 COLUMNS=32     (default: one binary of the file's own name)
//! ```

use blockscope::engine::vulkan::{constants, shaders};
use glslang::error::GlslangError;
use glslang::include::{IncludeHandler, IncludeResult, IncludeType};
use glslang::{
    Compiler, CompilerOptions, Program, Shader, ShaderInput, ShaderSource, ShaderStage, SourceLanguage, SpirvVersion,
    Target, VulkanVersion,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders")
}

fn update() -> bool {
    std::env::var_os("UPDATE").is_some_and(|value| value == "1")
}

/// Compares a generated file, or writes it when asked to.
fn check(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if std::fs::read(path).is_ok_and(|found| found == bytes) {
        return Ok(());
    }
    if update() {
        std::fs::create_dir_all(path.parent().expect("has a folder")).expect("folder");
        std::fs::write(path, bytes).expect("written");
        return Ok(());
    }
    Err(format!("{} is stale: run UPDATE=1 cargo test --test suite shaders::", path.display()))
}

/// One binary: its name, its source file, the defines, and the target.
struct Build {
    name: String,
    source: PathBuf,
    defines: Vec<(String, Option<String>)>,
    version: &'static str,
}

fn builds() -> Vec<Build> {
    let mut sources: Vec<PathBuf> = std::fs::read_dir(folder())
        .expect("shaders/")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "comp"))
        .collect();
    sources.sort();
    assert!(!sources.is_empty(), "there are shaders");
    sources.into_iter().flat_map(of_source).collect()
}

fn of_source(source: PathBuf) -> Vec<Build> {
    let text = std::fs::read_to_string(&source).expect("readable");
    let stem = source.file_stem().expect("named").to_string_lossy().into_owned();
    let version = match text.lines().find_map(|line| line.strip_prefix("// target: ")) {
        None | Some("vulkan1.1") => "vulkan1.1",
        Some("vulkan1.2") => "vulkan1.2",
        Some("vulkan1.3") => "vulkan1.3",
        Some(other) => panic!("{}: unknown target {other}", source.display()),
    };
    let define = |word: &str| match word.split_once('=') {
        Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
        None => (word.to_owned(), None),
    };
    let mut all: Vec<Build> = text
        .lines()
        .filter_map(|line| line.strip_prefix("// build: "))
        .map(|line| {
            let mut words = line.split_whitespace();
            let name = words.next().expect("a name").to_owned();
            Build { name, source: source.clone(), defines: words.map(define).collect(), version }
        })
        .collect();
    if all.is_empty() {
        all.push(Build { name: stem, source, defines: Vec::new(), version });
    }
    all
}

/// Resolves `#include "..."` below `shaders/` and `shaders/include/`.
struct Includes;

impl IncludeHandler for Includes {
    fn include(&mut self, _: IncludeType, header: &str, _: &str, _: usize) -> Option<IncludeResult> {
        let paths = [folder().join(header), folder().join("include").join(header)];
        let data = paths.iter().find_map(|path| std::fs::read_to_string(path).ok())?;
        Some(IncludeResult { name: header.to_owned(), data })
    }
}

fn compile(build: &Build) -> Result<Vec<u32>, GlslangError> {
    let compiler = Compiler::acquire().expect("glslang starts");
    let source = ShaderSource::from(std::fs::read_to_string(&build.source).expect("readable"));
    let (version, spirv_version) = match build.version {
        "vulkan1.1" => (VulkanVersion::Vulkan1_1, SpirvVersion::SPIRV1_3),
        "vulkan1.2" => (VulkanVersion::Vulkan1_2, SpirvVersion::SPIRV1_5),
        _ => (VulkanVersion::Vulkan1_3, SpirvVersion::SPIRV1_6),
    };
    let options = CompilerOptions {
        source_language: SourceLanguage::GLSL,
        target: Target::Vulkan { version, spirv_version },
        ..CompilerOptions::default()
    };
    let defines: Vec<(&str, Option<&str>)> =
        build.defines.iter().map(|(name, value)| (name.as_str(), value.as_deref())).collect();
    let mut includes = Includes;
    let input = ShaderInput::new(&source, ShaderStage::Compute, &options, Some(&defines), Some(&mut includes))?;
    let shader = Shader::new(compiler, input).parse()?;
    let mut program = Program::new(compiler);
    program.add_shader(&shader);
    program.compile(ShaderStage::Compute)
}

#[test]
fn the_generated_header_is_fresh() {
    check(&folder().join("include/constants.glsl"), constants::glsl().as_bytes()).unwrap();
}

#[test]
fn the_binaries_are_what_the_sources_compile_to() {
    the_generated_header_is_fresh();
    let mut problems = Vec::new();
    for build in builds() {
        match compile(&build) {
            Err(error) => problems.push(format!("{}: {error}", build.name)),
            Ok(words) => {
                let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
                problems.extend(check(&folder().join(format!("spv/{}.spv", build.name)), &bytes).err());
            }
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_shader_is_known_to_the_engine_and_every_binary_has_a_source() {
    let known: BTreeSet<String> = shaders::all().iter().map(|shader| shader.name.to_owned()).collect();
    let built: BTreeSet<String> = builds().into_iter().map(|build| build.name).collect();
    assert_eq!(known, built, "shaders::all() and the sources");
    let binaries: BTreeSet<String> = std::fs::read_dir(folder().join("spv"))
        .expect("shaders/spv")
        .map(|entry| entry.expect("entry").path().file_stem().expect("named").to_string_lossy().into_owned())
        .collect();
    assert_eq!(binaries, built, "binaries and sources");
}

/// Instructions of a module: opcode and operands.
fn instructions(words: &[u32]) -> Vec<(u32, &[u32])> {
    let (mut all, mut at) = (Vec::new(), 5);
    while at < words.len() {
        let count = (words[at] >> 16) as usize;
        all.push((words[at] & 0xffff, &words[at + 1..at + count]));
        at += count;
    }
    all
}

#[test]
fn no_float_arithmetic_may_be_contracted() {
    const DECORATE: u32 = 71;
    const NO_CONTRACTION: u32 = 42;
    let arithmetic: BTreeMap<u32, &str> = BTreeMap::from([
        (129, "OpFAdd"),
        (131, "OpFSub"),
        (133, "OpFMul"),
        (136, "OpFDiv"),
        (140, "OpFRem"),
        (141, "OpFMod"),
        (142, "OpVectorTimesScalar"),
        (148, "OpDot"),
    ]);
    let mut problems = Vec::new();
    // The probe looks for what a driver does to unmarked arithmetic.
    for shader in shaders::all().into_iter().filter(|shader| !shader.name.starts_with("half_probe")) {
        let words = shader.words();
        let all = instructions(&words);
        let marked: BTreeSet<u32> =
            all.iter().filter(|(op, o)| *op == DECORATE && o[1] == NO_CONTRACTION).map(|(_, o)| o[0]).collect();
        let mut counted = 0;
        for (op, operands) in &all {
            // An Fma needs no mark: ours multiply what has an exact product, so that fused or not makes no difference.
            let Some(name) = arithmetic.get(op) else { continue };
            counted += 1;
            if !marked.contains(&operands[1]) {
                problems.push(format!("{}: {name} %{} may be contracted", shader.name, operands[1]));
            }
        }
        println!("{}: {counted} float operations, {} instructions", shader.name, all.len());
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
