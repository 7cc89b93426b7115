#version 450
// Egui's meshes, from points to clip space. Colours are premultiplied and in gamma space, and stay so.
layout(location = 0) in vec2 position;
layout(location = 1) in vec2 texel;
layout(location = 2) in vec4 colour;
// Two over the screen's size in points.
layout(push_constant) uniform Screen { vec2 scale; } screen;
layout(location = 0) out vec4 shade;
layout(location = 1) out vec2 place;

void main() {
    shade = colour;
    place = texel;
    gl_Position = vec4(position * screen.scale - 1.0, 0.0, 1.0);
}
