//! The window's shaders are what the GLSL beside them compiles to. `UPDATE=1` writes the binaries anew.

#![cfg(feature = "app")]

use glslang::{
    Compiler, CompilerOptions, Program, Shader, ShaderInput, ShaderSource, ShaderStage, SourceLanguage, SpirvVersion,
    Target, VulkanVersion,
};
use std::path::Path;

const FILES: [(&str, ShaderStage); 3] = [
    ("window.vert", ShaderStage::Vertex),
    ("window.frag", ShaderStage::Fragment),
    ("solid.frag", ShaderStage::Fragment),
];

#[test]
fn the_binaries_are_what_the_sources_compile_to() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/shell/raw/shaders");
    for (file, stage) in FILES {
        let compiler = Compiler::acquire().unwrap();
        let source = ShaderSource::from(std::fs::read_to_string(folder.join(file)).unwrap());
        let target = Target::Vulkan { version: VulkanVersion::Vulkan1_1, spirv_version: SpirvVersion::SPIRV1_3 };
        let options = CompilerOptions { source_language: SourceLanguage::GLSL, target, ..CompilerOptions::default() };
        let input = ShaderInput::new(&source, stage, &options, None, None).unwrap();
        let shader = Shader::new(compiler, input).parse().unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut program = Program::new(compiler);
        program.add_shader(&shader);
        let words = program.compile(stage).unwrap_or_else(|error| panic!("{file}: {error}"));
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let binary = folder.join(format!("{file}.spv"));
        if std::env::var_os("UPDATE").is_some_and(|value| value == "1") {
            std::fs::write(&binary, &bytes).unwrap();
        }
        let same = std::fs::read(&binary).unwrap() == bytes;
        assert!(same, "{} is stale: run UPDATE=1 cargo test --test suite window_shaders::", binary.display());
    }
}
