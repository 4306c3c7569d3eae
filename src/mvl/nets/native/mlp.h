// An ensemble of multi-layer perceptrons on a CPU, forward and backward, a block of rows at a time.
//
// If each operation (product, bias, GELU, row sums) is done on all rows, every array of activations passes through memory
// several times. Here a block of rows passes through all layers while it is in the core's second-level cache, so that nearly
// all of the time is spent in matrix products. With h_0 = base + x K_0, the layers of each head are
//     h_{i+1} = norm(gelu(h_i)) K_{i+1} + b_{i+1},
// where K are weights, b biases, and norm is LayerNorm or the identity. Its linear part (centering, scale, shift) is folded
// into the weights and the bias that follow; what remains is the factor r_i = 1 / std of each row:
//     h_{i+1} = r_i gelu(h_i) F_{i+1} + f_{i+1}.

#pragma once

#include <cmath>
#include <vector>

#include "products.h"

constexpr int kBlock = 64;  // rows per block

// gelu(x) = x gate(x), with gate(x) = sigmoid(z), z = 2 sqrt(2 / pi) (x + 0.044715 x^3).
constexpr float kSlope = 1.5957691216f, kCube = 0.044715f, kLog2E = 1.4426950409f;

inline Vector gate(Vector x) {
  Vector z = x * (x * x * (-kSlope * kCube * kLog2E) - kSlope * kLog2E);
  z = z < -126.0f ? every(-126.0f) : z;
  z = z > 126.0f ? every(126.0f) : z;
  return 1.0f / (1.0f + exp2(z));
}

struct Layer {
  const float *weights, *bias;  // (inputs, outputs), (outputs,); the first layer's bias is part of base
  const float *scale, *shift;  // (inputs,) of the LayerNorm before it, or null
  int inputs, outputs;
  bool narrow;  // too few outputs for a tile: computed by sums along rows
};

struct Network {
  const float* x;     // (rows, features)
  const float* base;  // (period, width): row r uses base row r modulo period
  int rows, period;
  std::vector<Layer> layers;

  // Floats from one row of a block to the next; an odd number of cache lines, which avoids cache conflicts between rows.
  size_t stride() const {
    int width = layers[0].inputs;
    for (const Layer& layer : layers) width = std::max(width, layer.outputs);
    return rounded(width, 32) + 16;
  }
  bool norm() const { return layers.back().scale != nullptr; }
};

// Scratch memory that a thread keeps between calls. kUse 0: shared with other threads, 1: blocks of its own.
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

// A layer prepared for products: its folded weights in panels (or transposed, if narrow), and its folded bias.
struct Prepared {
  float *panels, *bias;
  static size_t size(const Layer& layer, size_t stride) {
    const size_t most = std::max(packed_size(layer.inputs, layer.outputs), packed_size(layer.outputs, layer.inputs));
    return Arena<0>::rounded_up(layer.narrow ? layer.outputs * stride : most) + 2 * stride;
  }
};

// Folds LayerNorm into the layer: F = scale K minus its mean over inputs, f = b + shift K.
inline Prepared prepare(const Layer& layer, float* memory, size_t stride, bool backward) {
  Prepared made{memory + 2 * stride, memory};
  float* lowered = memory + stride;
  std::fill(memory, memory + 2 * stride, 0.0f);
  if (layer.bias) std::memcpy(made.bias, layer.bias, 4 * layer.outputs);
  for (int i = 0; layer.scale && i < layer.inputs; ++i) {
    const float* row = layer.weights + size_t(i) * layer.outputs;
    const float scale = layer.scale[i] / layer.inputs, shift = layer.shift[i];
    for (int o = 0; o < layer.outputs; ++o) {
      lowered[o] += scale * row[o];
      made.bias[o] += shift * row[o];
    }
  }
  if (backward && !layer.narrow) pack_transposed(layer.weights, layer.inputs, layer.outputs, layer.scale, lowered, made.panels);
  else if (!layer.narrow) pack(layer.weights, layer.inputs, layer.outputs, layer.scale, lowered, made.panels);
  for (int o = 0; layer.narrow && o < layer.outputs; ++o) {
    float* to = made.panels + o * stride;
    std::fill(to, to + rounded(layer.inputs, kLanes), 0.0f);
    for (int i = 0; i < layer.inputs; ++i) {
      const float entry = layer.weights[size_t(i) * layer.outputs + o];
      to[i] = layer.scale ? layer.scale[i] * entry - lowered[o] : entry;
    }
  }
  return made;
}

struct Moments {
  float mean = 0.0f, rate = 1.0f;  // rate is 1 / std
};

inline Moments moments(Vector total, Vector squares, int width) {
  const float mean = sum(total) / width;
  return {mean, 1.0f / std::sqrt(std::max(sum(squares) / width - mean * mean, 0.0f) + 1e-6f)};
}

// Copies rows of an array into a block, and pads them with zeros to whole tiles.
inline void fetch(const float* from, int rows, int width, float* block, size_t stride) {
  for (int r = 0; r < rounded(rows, kTileRows); ++r, block += stride, from += width) {
    const int copied = r < rows ? width : 0;
    std::memcpy(block, from, 4 * copied);
    std::fill(block + copied, block + rounded(width, kTileColumns), 0.0f);
  }
}
