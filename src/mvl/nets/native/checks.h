// Checks of what a caller passes, made before any memory is touched. A failed check throws; `guarded` makes it an ffi::Error.

#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

using Array = ffi::Buffer<ffi::F32>;
using Arrays = ffi::RemainingArgs;
using Results = ffi::RemainingRets;
using Shape = std::vector<int64_t>;

inline void check(bool holds, const std::string& message) {
  if (!holds) throw std::invalid_argument(message);
}

inline std::string text(const Shape& shape) {
  std::string all;
  for (int64_t size : shape) all += (all.empty() ? "" : ", ") + std::to_string(size);
  return "(" + all + ")";
}

inline Shape shape_of(const Array& array) {
  const auto sizes = array.dimensions();
  return Shape(sizes.begin(), sizes.end());
}

inline void check_shape(const Array& array, const Shape& wanted, const std::string& name) {
  const Shape shape = shape_of(array);
  check(shape == wanted, name + " has shape " + text(shape) + ", expected " + text(wanted));
}

// The shape of an array of this rank, whose sizes are small enough to be counted by an int.
inline Shape checked_shape(const Array& array, size_t rank, const std::string& name) {
  const Shape shape = shape_of(array);
  check(shape.size() == rank, name + " has rank " + std::to_string(shape.size()) + ", expected " + std::to_string(rank));
  for (int64_t size : shape) check(size < int64_t{1} << 30, name + " has shape " + text(shape) + ", which is too large");
  return shape;
}

inline void check_count(size_t count, size_t wanted, const std::string& name) {
  check(count == wanted, std::to_string(count) + " " + name + " were given, expected " + std::to_string(wanted));
}

// All variadic arguments or results as arrays, which fails if one is not of floats.
template <typename Remaining>
std::vector<Array> arrays_of(const Remaining& remaining, const std::string& name) {
  std::vector<Array> arrays;
  for (size_t i = 0; i < remaining.size(); ++i) {
    auto found = remaining.template get<Array>(i);
    check(found.has_value(), name + " " + std::to_string(i) + ": " + (found.has_value() ? "" : found.error().message()));
    if constexpr (std::is_same_v<Remaining, Arrays>) arrays.push_back(*found);
    else arrays.push_back(**found);
  }
  return arrays;
}

// How many threads a call may use: devices share the pool.
inline int threads_for(const ffi::ThreadPool& pool, int64_t devices) {
  check(devices > 0, "devices is " + std::to_string(devices) + ", expected at least 1");
  return std::max<int64_t>(1, pool.num_threads() / devices);
}

template <typename Body>
ffi::Error guarded(const char* function, Body body) {
  try {
    body();
    return ffi::Error::Success();
  } catch (const std::invalid_argument& error) {
    return ffi::Error::InvalidArgument(std::string(function) + ": " + error.what());
  }
}
