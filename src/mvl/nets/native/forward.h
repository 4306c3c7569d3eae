// Forward pass: from the inputs to the outputs.

#pragma once

#include "mlp.h"

inline void narrow_product(const float* left, int rows, const Layer& layer, const float* panels, float* to, size_t stride) {
  for (int r = 0; r < rows; ++r, left += stride, to += stride)
    for (int o = 0; o < layer.outputs; ++o) {
      Vector total{};
      for (int i = 0; i < layer.inputs; i += kLanes) total += load(left + i) * load(panels + o * stride + i);
      to[o] = sum(total);
    }
}

// Replaces a row of a matrix product by activations; the pre-activations are written to `kept` unless it is null.
inline Moments activate(float* row, Moments before, const float* bias, int width, bool norm, float* kept) {
  Vector total{}, squares{};
  for (int c = 0; c < width; c += kLanes) {
    const Vector h = load(row + c) * before.rate + load(bias + c), a = h * gate(h);
    store(row + c, a);
    total += a;
    squares += a * a;
    if (kept && c + kLanes <= width) store(kept + c, h);
    else if (kept) std::memcpy(kept + c, &h, 4 * (width - c));
  }
  return norm ? moments(total, squares, width) : Moments{};
}

// Forward pass of one block of rows; h_0, h_1, ... are written to `kept` for the backward pass, unless it is empty.
inline void forward(const Network& net, const std::vector<Prepared>& ready, int from, float* output,
                    const std::vector<float*>& kept) {
  const size_t stride = net.stride(), block = (kBlock + kTileRows) * stride;
  Arena<1> arena(2 * block + 2 * stride);
  float *now = arena.take(block), *then = arena.take(block), *beginning = arena.take(stride);
  const int rows = std::min(kBlock, net.rows - from), features = net.layers[0].inputs, last = net.layers.size() - 1;
  Moments found[kBlock] = {};
  fetch(net.x + size_t(from) * features, rows, features, now, stride);
  std::fill(beginning, beginning + stride, 0.0f);
  for (int l = 0; l <= last; ++l, std::swap(now, then)) {
    const Layer& layer = net.layers[l];
    if (layer.narrow) narrow_product(now, rows, layer, ready[l].panels, then, stride);
    else product(now, rounded(rows, kTileRows), layer.inputs, ready[l].panels, layer.outputs, then, stride);
    for (int r = 0; r < rows; ++r) {
      float* row = then + r * stride;
      const size_t place = size_t(from + r) * layer.outputs;
      const float* bias = ready[l].bias;
      if (l == 0) {
        bias = beginning;
        if (r == 0 || net.period > 1)
          std::memcpy(beginning, net.base + size_t((from + r) % net.period) * layer.outputs, 4 * layer.outputs);
      }
      if (l < last) found[r] = activate(row, found[r], bias, layer.outputs, net.norm(), kept.empty() ? nullptr : kept[l] + place);
      else for (int o = 0; o < layer.outputs; ++o) output[place + o] = found[r].rate * row[o] + bias[o];
    }
  }
}
