#version 450
// The mesh's own colour: what has no texture.
layout(location = 0) in vec4 shade;
layout(location = 0) out vec4 colour;

void main() {
    colour = shade;
}
