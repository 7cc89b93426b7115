#version 450
// A texel tinted by the mesh. Nothing is converted: textures, colours and framebuffer are all in gamma space.
layout(location = 0) in vec4 shade;
layout(location = 1) in vec2 place;
layout(set = 0, binding = 0) uniform sampler2D picture;
layout(location = 0) out vec4 colour;

void main() {
    colour = shade * textureLod(picture, place, 0.0);
}
