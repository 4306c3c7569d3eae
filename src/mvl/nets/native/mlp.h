// An ensemble of multi-layer perceptrons on a CPU, forward and backward, a block of rows at a time.
//
// A compiler that takes one operation after another passes every array of activations through memory again and again:
// product, bias, GELU, row sums. Here a block of rows goes through all layers while it lies in the core's second cache,
// so that nearly all of the time is that of the products. With h_0 = base + x K_0, the layers of each head are
//     h_{i+1} = norm(gelu(h_i)) K_{i+1} + b_{i+1},
// where norm is LayerNorm, or nothing. What is linear in it (centering, scale, shift) is folded into the kernel and the
// bias that follow, and a division by the row's deviation is left:  h_{i+1} = r_i gelu(h_i) F_{i+1} + f_{i+1}.

#pragma once

#include <cmath>
#include <vector>

#include "products.h"

constexpr int kBlock = 64;  // rows

// gelu(x) = x gate(x), with gate(x) = sigmoid(z), z = 2 sqrt(2 / pi) (x + 0.044715 x^3).
constexpr float kSlope = 1.5957691216f, kCube = 0.044715f, kLog2E = 1.4426950409f;

inline Vector gate(Vector x) {
  Vector z = x * (x * x * (-kSlope * kCube * kLog2E) - kSlope * kLog2E);
  z = z < -126.0f ? every(-126.0f) : z;
  z = z > 126.0f ? every(126.0f) : z;
  return 1.0f / (1.0f + exp2(z));
}

struct Layer {
  const float *kernel, *bias;  // (inputs, outputs), (outputs,); the first layer's bias is in base
  const float *scale, *shift;  // (inputs,) of the norm before it, or null
  int inputs, outputs;
  bool narrow;  // few outputs: sums along a row instead of tiles
};

struct Network {
  const float* x;     // (rows, features)
  const float* base;  // (period, width): row r begins with that of r modulo period
  int rows, period;
  std::vector<Layer> layers;

  // Floats from row to row of a block; an odd number of cache lines, so that rows do not compete for places.
  size_t stride() const {
    int width = layers[0].inputs;
    for (const Layer& layer : layers) width = std::max(width, layer.outputs);
    return rounded(width, 32) + 16;
  }
  bool norm() const { return layers.back().scale != nullptr; }
};

// Memory that a thread keeps from call to call: 0 for what threads share, 1 for blocks of its own.
template <int kUse>
class Arena {
 public:
  explicit Arena(size_t floats) {
    thread_local std::vector<float> memory;
    if (memory.size() < floats + 32) memory.resize(floats + 32);
    next_ = reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(memory.data()) + 63) & ~uintptr_t{63});
  }
  float* take(size_t floats) {
    float* taken = next_;
    next_ += rounded_up(floats);
    return taken;
  }
  static size_t rounded_up(size_t floats) { return (floats + 15) / 16 * 16; }

 private:
  float* next_;
};

// A layer ready for products: its folded kernel in panels (or with inputs along memory, if narrow), its folded bias.
struct Prepared {
  float *panels, *bias;
  static size_t size(const Layer& layer, size_t stride) {
    const size_t most = std::max(packed_size(layer.inputs, layer.outputs), packed_size(layer.outputs, layer.inputs));
    return Arena<0>::rounded_up(layer.narrow ? layer.outputs * stride : most) + 2 * stride;
  }
};

// F = scale K - its mean over inputs, f = b + shift K.
inline Prepared prepare(const Layer& layer, float* memory, size_t stride, bool backward) {
  Prepared made{memory + 2 * stride, memory};
  float* lowered = memory + stride;
  std::fill(memory, memory + 2 * stride, 0.0f);
  if (layer.bias) std::memcpy(made.bias, layer.bias, 4 * layer.outputs);
  for (int i = 0; layer.scale && i < layer.inputs; ++i) {
    const float* row = layer.kernel + size_t(i) * layer.outputs;
    const float scale = layer.scale[i] / layer.inputs, shift = layer.shift[i];
    for (int o = 0; o < layer.outputs; ++o) {
      lowered[o] += scale * row[o];
      made.bias[o] += shift * row[o];
    }
  }
  if (backward && !layer.narrow) pack_transposed(layer.kernel, layer.inputs, layer.outputs, layer.scale, lowered, made.panels);
  else if (!layer.narrow) pack(layer.kernel, layer.inputs, layer.outputs, layer.scale, lowered, made.panels);
  for (int o = 0; layer.narrow && o < layer.outputs; ++o) {
    float* to = made.panels + o * stride;
    std::fill(to, to + rounded(layer.inputs, kLanes), 0.0f);
    for (int i = 0; i < layer.inputs; ++i) {
      const float entry = layer.kernel[size_t(i) * layer.outputs + o];
      to[i] = layer.scale ? layer.scale[i] * entry - lowered[o] : entry;
    }
  }
  return made;
}

struct Moments {
  float mean = 0.0f, rate = 1.0f;  // rate is one over the deviation
};

inline Moments moments(Vector total, Vector squares, int width) {
  const float mean = sum(total) / width;
  return {mean, 1.0f / std::sqrt(std::max(sum(squares) / width - mean * mean, 0.0f) + 1e-6f)};
}

// Rows of an array into a block; what lies beyond them, to the side and below, is zero.
inline void fetch(const float* from, int rows, int width, float* block, size_t stride) {
  for (int r = 0; r < rounded(rows, kTileRows); ++r, block += stride, from += width) {
    const int there = r < rows ? width : 0;
    std::memcpy(block, from, 4 * there);
    std::fill(block + there, block + rounded(width, kTileColumns), 0.0f);
  }
}
