// Checks of arguments, made before any memory is accessed. A failed check throws; `guarded` turns that into an ffi::Error.
// Messages are composed only when a check fails, because every call makes dozens of checks.

#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

using Array = ffi::Buffer<ffi::F32>;
using Arrays = ffi::RemainingArgs;
using Results = ffi::RemainingRets;
using Shape = ffi::Span<const int64_t>;

template <typename... Parts>
[[noreturn]] void fail(const Parts&... parts) {
  std::ostringstream message;
  (message << ... << parts);
  throw std::invalid_argument(message.str());
}

template <typename... Parts>
void check(bool holds, const Parts&... parts) {
  if (!holds) fail(parts...);
}

// Name of an array in a message: "the bias of layer 2".
struct Name {
  const char* what;
  int64_t index = -1;
};

inline std::ostream& operator<<(std::ostream& to, const Name& name) {
  return name.index < 0 ? to << name.what : to << name.what << name.index;
}

template <typename Sizes>
std::string text(const Sizes& sizes) {
  std::ostringstream all;
  for (int64_t size : sizes) all << (all.tellp() > 0 ? ", " : "") << size;
  return "(" + all.str() + ")";
}

template <typename Wanted>
void check_shape_is(const Array& array, const Wanted& wanted, Name name) {
  const Shape shape = array.dimensions();
  if (!std::equal(shape.begin(), shape.end(), wanted.begin(), wanted.end()))
    fail(name, " has shape ", text(shape), ", expected ", text(wanted));
}

inline void check_shape(const Array& array, std::initializer_list<int64_t> wanted, Name name) {
  check_shape_is(array, wanted, name);
}

inline void check_same_shape(const Array& array, const Array& like, Name name) { check_shape_is(array, like.dimensions(), name); }

// The shape of an array; fails if it does not have this rank, or has a size that does not fit into an int.
inline Shape checked_shape(const Array& array, size_t rank, Name name) {
  const Shape shape = array.dimensions();
  check(shape.size() == rank, name, " has rank ", shape.size(), ", expected ", rank);
  for (int64_t size : shape)
    if (size >= int64_t{1} << 30) fail(name, " has shape ", text(shape), ", which is too large");
  return shape;
}

// All variadic arguments or results as arrays; fails if one is not of type float.
template <typename Remaining>
std::vector<Array> arrays_of(const Remaining& remaining, const char* kind) {
  std::vector<Array> arrays;
  arrays.reserve(remaining.size());
  for (size_t i = 0; i < remaining.size(); ++i) {
    auto found = remaining.template get<Array>(i);
    if (!found.has_value()) fail(kind, " ", i, ": ", found.error().message());
    if constexpr (std::is_same_v<Remaining, Arrays>) arrays.push_back(*found);
    else arrays.push_back(**found);
  }
  return arrays;
}

// How many threads a call may use: the devices share the pool equally.
inline int threads_for(const ffi::ThreadPool& pool, int64_t devices) {
  check(devices > 0, "devices is ", devices, ", expected at least 1");
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
