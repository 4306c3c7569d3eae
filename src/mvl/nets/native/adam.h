// A step of Adam, and of the target networks, which are moving averages of the parameters.

#pragma once

#include <cmath>

#include "products.h"

struct Rates {
  float first, second;     // beta_1 and beta_2
  float epsilon, follow;   // follow: share by which a target network moves
  float step, correction;  // rate / (1 - beta_1^t) and 1 / (1 - beta_2^t)
};

// Parameters, averages of the gradient and of its square, and target networks (null if there are none), updated in place.
struct Moving {
  float *parameter, *mean, *square, *copy;
  const float* gradient;
};

inline Vector root(Vector v) {
  for (int i = 0; i < kLanes; ++i) v[i] = std::sqrt(v[i]);
  return v;
}

// Updates the numbers from index i on: a whole vector or a single number, depending on Lanes.
template <typename Lanes, typename Load, typename Store, typename Root>
inline void adam_at(const Moving& at, size_t i, const Rates& rates, Load load, Store store, Root root) {
  const Lanes p = load(at.parameter + i), g = load(at.gradient + i);
  const Lanes m = rates.first * load(at.mean + i) + (1 - rates.first) * g;
  const Lanes s = rates.second * load(at.square + i) + (1 - rates.second) * (g * g);
  if (at.copy) store(at.copy + i, (1 - rates.follow) * load(at.copy + i) + rates.follow * p);
  store(at.mean + i, m);
  store(at.square + i, s);
  store(at.parameter + i, p - rates.step * m / (root(s * rates.correction) + rates.epsilon));
}

inline void adam(const Moving& at, size_t from, size_t to, const Rates& rates) {
  const auto get = [](const float* place) { return *place; };
  const auto put = [](float* place, float value) { *place = value; };
  const auto one_root = [](float value) { return std::sqrt(value); };
  size_t i = from;
  for (; i + kLanes <= to; i += kLanes) adam_at<Vector>(at, i, rates, load, store, root);
  for (; i < to; ++i) adam_at<float>(at, i, rates, get, put, one_root);
}
