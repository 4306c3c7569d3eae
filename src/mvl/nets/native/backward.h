// Backward pass: from the gradient of the outputs to the gradients of all parameters and of h_0.

#pragma once

#include "mlp.h"

// Memory in which one thread sums gradients over its part of the rows.
struct Sums {
  std::vector<float*> weights;  // gradients of the folded weights: padded to whole tiles, or transposed if narrow
  std::vector<float*> biases;
  float* base;  // (period, width)

  static size_t weights_size(const Layer& layer, size_t stride) {
    return Arena<0>::rounded_up((layer.narrow ? layer.outputs : rounded(layer.inputs, kTileRows)) * stride);
  }
  static size_t size(const Network& net, size_t stride) {
    size_t size = Arena<0>::rounded_up(size_t(net.period) * net.layers[0].outputs + kLanes);
    for (const Layer& layer : net.layers) size += weights_size(layer, stride) + stride;
    return size;
  }
  static Sums in(float* memory, const Network& net, size_t stride) {
    Sums sums;
    std::fill(memory, memory + size(net, stride), 0.0f);
    for (const Layer& layer : net.layers) {
      sums.weights.push_back(memory);
      sums.biases.push_back(memory += weights_size(layer, stride));
      memory += stride;
    }
    sums.base = memory;
    return sums;
  }
};

// Replaces h by gelu(h), and writes its derivative to `slope`.
inline Moments activate_with_slope(float* row, float* slope, int width, bool norm) {
  Vector total{}, squares{};
  for (int c = 0; c < width; c += kLanes) {
    const Vector h = load(row + c), g = gate(h), a = h * g;
    store(row + c, a);
    store(slope + c, g + a * (1.0f - g) * (kSlope + 3.0f * kSlope * kCube * h * h));
    total += a;
    squares += a * a;
  }
  return norm ? moments(total, squares, width) : Moments{};
}

// Adds the gradient of a layer's output to that of its bias, and multiplies it by the row's rate r = 1 / std. Returns the
// factor of (gelu(h) - mean) in the part of the gradient that is due to r: -r^2 sum_j dh_j (h_j - f_j) / width.
inline float through_rate(float* gradient, const float* above, const float* bias, const Layer& layer, Moments found, bool norm,
                          float* bias_sums) {
  float total = 0;
  int c = 0;
  Vector totals{};
  for (; c + kLanes <= layer.outputs; c += kLanes) {
    const Vector g = load(gradient + c);
    store(bias_sums + c, load(bias_sums + c) + g);
    totals += g * (load(above + c) - load(bias + c));
    store(gradient + c, g * found.rate);
  }
  for (; c < layer.outputs; ++c) {
    bias_sums[c] += gradient[c];
    total += gradient[c] * (above[c] - bias[c]);
    gradient[c] *= found.rate;
  }
  return norm ? -found.rate * found.rate * (total + sum(totals)) / layer.inputs : 0.0f;
}

inline void narrow_backward(const Layer& layer, const float* panels, const float* activations, const float* gradient, int rows,
                            float* weight_sums, float* to, size_t stride) {
  for (int r = 0; r < rows; ++r, activations += stride, gradient += stride, to += stride)
    for (int i = 0; i < layer.inputs; i += kLanes) {
      Vector total{};
      for (int o = 0; o < layer.outputs; ++o) {
        float* sums = weight_sums + o * stride + i;
        store(sums, load(sums) + gradient[o] * load(activations + i));
        total += gradient[o] * load(panels + o * stride + i);
      }
      store(to + i, total);
    }
}

// The gradient of h: (gradient + pull (activation - mean)) slope; zero beyond the width.
inline void through_activation(float* row, const float* activations, const float* slope, float pull, float mean, int width) {
  for (int c = 0; c < width; c += kLanes)
    store(row + c, (load(row + c) + pull * (load(activations + c) - mean)) * load(slope + c));
  std::fill(row + width, row + rounded(width, kTileColumns), 0.0f);
}

// Backward pass of one block of rows; `kept` has h_0, h_1, ... and the outputs, `above` is the gradient of the outputs,
// and the gradient of h_0 is written to `below`.
inline void backward(const Network& net, const std::vector<Prepared>& ready, int from, int rows,
                     const std::vector<const float*>& kept, const float* above, const Sums& sums, float* below) {
  const size_t stride = net.stride(), block = (kBlock + kTileRows) * stride;
  Arena<1> arena(4 * block);
  float *now = arena.take(block), *then = arena.take(block), *activations = arena.take(block), *slopes = arena.take(block);
  const int last = net.layers.size() - 1, outputs = net.layers[last].outputs, width = net.layers[0].outputs;
  fetch(above + size_t(from) * outputs, rows, outputs, now, stride);
  for (int l = last; l > 0; --l, std::swap(now, then)) {
    const Layer& layer = net.layers[l];
    float pulls[kBlock];
    Moments found[kBlock];
    fetch(kept[l - 1] + size_t(from) * layer.inputs, rows, layer.inputs, activations, stride);
    for (int r = 0; r < rows; ++r) {
      found[r] = activate_with_slope(activations + r * stride, slopes + r * stride, layer.inputs, net.norm());
      const float* value = kept[l] + size_t(from + r) * layer.outputs;
      pulls[r] = through_rate(now + r * stride, value, ready[l].bias, layer, found[r], net.norm(), sums.biases[l]);
    }
    if (layer.narrow) narrow_backward(layer, ready[l].panels, activations, now, rows, sums.weights[l], then, stride);
    else {
      add_outer(activations, layer.inputs, now, layer.outputs, rows, stride, sums.weights[l], stride);
      product(now, rounded(rows, kTileRows), layer.outputs, ready[l].panels, layer.inputs, then, stride);
    }
    for (int r = 0; r < rows; ++r)
      through_activation(then + r * stride, activations + r * stride, slopes + r * stride, pulls[r], found[r].mean, layer.inputs);
  }
  for (int r = 0; r < rows; ++r) {
    const float* row = now + r * stride;
    float* base = sums.base + size_t((from + r) % net.period) * width;
    for (int c = 0; c < width; ++c) base[c] += row[c];
    std::memcpy(below + size_t(from + r) * width, row, 4 * width);
  }
  const int features = net.layers[0].inputs;
  fetch(net.x + size_t(from) * features, rows, features, activations, stride);
  add_outer(activations, features, now, width, rows, stride, sums.weights[0], stride);
}

// Memory for the gradients of a layer; null for those that are not needed.
struct LayerGradients {
  float *weights, *bias, *scale, *shift;
};

// For one input: dK = scale (D - mean) + shift df, and the sums over outputs of (D - mean) K and df K (see `unfold`).
inline void unfold_row(const float* sums, size_t along, const float* means, const float* bias, const float* weights, float scale,
                       float shift, int outputs, float* gradient, float* scale_gradient, float* shift_gradient) {
  Vector centered_total{}, bias_total{};
  float centered_rest = 0, bias_rest = 0;
  int o = 0;
  for (; along == 1 && o + kLanes <= outputs; o += kLanes) {
    const Vector centered = load(sums + o) - load(means + o), k = load(weights + o), b = load(bias + o);
    store(gradient + o, scale * centered + shift * b);
    centered_total += centered * k;
    bias_total += b * k;
  }
  for (; o < outputs; ++o) {
    const float centered = sums[o * along] - means[o];
    gradient[o] = scale * centered + shift * bias[o];
    centered_rest += centered * weights[o];
    bias_rest += bias[o] * weights[o];
  }
  if (scale_gradient) {
    *scale_gradient = sum(centered_total) + centered_rest;
    *shift_gradient = sum(bias_total) + bias_rest;
  }
}

inline void add(const float* from, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) to[i] += from[i];
}

// Adds the sums of all threads and undoes the folding: with D the gradient of the folded weights and df that of the bias,
// dK = scale (D - mean) + shift df, dscale = sum_o (D - mean) K, dshift = sum_o df K, the mean being over inputs.
inline void unfold(const Layer& layer, const std::vector<Sums>& parts, int index, size_t stride, const LayerGradients& to) {
  float *sums = parts[0].weights[index], *bias = parts[0].biases[index];
  for (size_t p = 1; p < parts.size(); ++p) {
    add(parts[p].weights[index], Sums::weights_size(layer, stride), sums);
    add(parts[p].biases[index], layer.outputs, bias);
  }
  if (to.bias) std::memcpy(to.bias, bias, 4 * layer.outputs);
  const size_t down = layer.narrow ? 1 : stride, along = layer.narrow ? stride : 1;
  std::vector<float> means(layer.outputs);
  if (layer.scale && !layer.narrow)
    for (int i = 0; i < layer.inputs; ++i) add(sums + i * stride, layer.outputs, means.data());
  if (layer.scale && layer.narrow)
    for (int i = 0; i < layer.inputs; ++i)
      for (int o = 0; o < layer.outputs; ++o) means[o] += sums[o * stride + i];
  for (float& mean : means) mean /= layer.inputs;
  for (int i = 0; i < layer.inputs; ++i) {
    const size_t place = size_t(i) * layer.outputs;
    unfold_row(sums + i * down, along, means.data(), bias, layer.weights + place, layer.scale ? layer.scale[i] : 1.0f,
               layer.scale ? layer.shift[i] : 0.0f, layer.outputs, to.weights + place, to.scale ? to.scale + i : nullptr,
               to.shift ? to.shift + i : nullptr);
  }
}
