#pragma once

// Vectors as wide as the processor's, and matrix products computed in tiles that fit into its registers.

#include <algorithm>
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
constexpr int kLanes = 16, kTileRows = 8;
#elif defined(__AVX__)
constexpr int kLanes = 8, kTileRows = 6;
#else
constexpr int kLanes = 4, kTileRows = 4;
#endif
constexpr int kTileColumns = 2 * kLanes;

typedef float Vector __attribute__((vector_size(4 * kLanes)));
typedef int32_t Bits __attribute__((vector_size(4 * kLanes)));

inline Vector load(const float* from) {
  Vector value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline void store(float* to, Vector value) { std::memcpy(to, &value, sizeof value); }
inline Vector every(float value) { return Vector{} + value; }

inline float sum(Vector v) {
  float total = 0;
  for (int i = 0; i < kLanes; ++i) total += v[i];
  return total;
}

// 2^v for |v| <= 126: the integer part becomes the exponent, 2^fraction is a polynomial (relative error 2e-7).
inline Vector exp2(Vector v) {
  const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to an integer
  Vector shifted = v + shift, f = v - (shifted - shift);
  Vector p = every(1.327647168e-3f);
  for (float next : {9.675541332e-3f, 5.550713274e-2f, 2.402211972e-1f, 6.931469671e-1f, 1.000000072f}) p = p * f + next;
  return (Vector)((Bits)p + ((Bits)shifted << 23));
}

inline int rounded(int count, int unit) { return (count + unit - 1) / unit * unit; }

inline size_t packed_size(int rows, int columns) { return size_t(rows) * rounded(columns, kTileColumns); }

// Packs scale * matrix - lowered (or the matrix, if scale is null) into panels of kTileColumns columns, so that a product
// reads its right side in order.
inline void pack(const float* matrix, int rows, int columns, const float* scale, const float* lowered, float* panels) {
  for (int c = 0; c < columns; c += kTileColumns) {
    const int width = std::min(kTileColumns, columns - c);
    for (int r = 0; r < rows; ++r, panels += kTileColumns) {
      const float* row = matrix + size_t(r) * columns + c;
      if (width == kTileColumns && scale)
        for (int i = 0; i < kTileColumns; i += kLanes) store(panels + i, load(row + i) * scale[r] - load(lowered + c + i));
      else if (scale)
        for (int i = 0; i < width; ++i) panels[i] = row[i] * scale[r] - lowered[c + i];
      else std::memcpy(panels, row, 4 * width);
      std::fill(panels + width, panels + kTileColumns, 0.0f);
    }
  }
}

typedef float Four __attribute__((vector_size(16)));

// Transposes a 4 x 4 block of scale * matrix - lowered; rows are `row` floats apart in `from` and `to_row` in `to`.
inline void transpose_four(const float* from, size_t row, const float* scale, const float* lowered, float* to, size_t to_row) {
  Four in[4], low{};
  if (scale) std::memcpy(&low, lowered, sizeof low);
  for (int i = 0; i < 4; ++i) {
    std::memcpy(&in[i], from + i * row, sizeof in[i]);
    if (scale) in[i] = in[i] * scale[i] - low;
  }
  const Four a = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5), b = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5);
  const Four c = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7), d = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
  const Four out[4] = {__builtin_shufflevector(a, b, 0, 1, 4, 5), __builtin_shufflevector(a, b, 2, 3, 6, 7),
                       __builtin_shufflevector(c, d, 0, 1, 4, 5), __builtin_shufflevector(c, d, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) std::memcpy(to + i * to_row, &out[i], sizeof out[i]);
}

// As `pack`, for the transposed matrix, which has `rows` columns.
inline void pack_transposed(const float* matrix, int rows, int columns, const float* scale, const float* lowered, float* panels) {
  for (int r = 0; r < rows; r += kTileColumns, panels += size_t(columns) * kTileColumns) {
    const int width = std::min(kTileColumns, rows - r), even = columns / 4 * 4, whole = width / 4 * 4;
    if (width < kTileColumns) std::fill(panels, panels + size_t(columns) * kTileColumns, 0.0f);
    for (int c = 0; c < even; c += 4)
      for (int i = 0; i < whole; i += 4)
        transpose_four(matrix + size_t(r + i) * columns + c, columns, scale ? scale + r + i : nullptr, lowered + c,
                       panels + size_t(c) * kTileColumns + i, kTileColumns);
    for (int i = 0; i < width; ++i)
      for (int c = i < whole ? even : 0; c < columns; ++c) {
        const float entry = matrix[size_t(r + i) * columns + c];
        panels[size_t(c) * kTileColumns + i] = scale ? scale[r + i] * entry - lowered[c] : entry;
      }
  }
}

// One tile of a product; on the left side, `row` floats lie between rows of the tile and `next` between summands.
template <bool kAdd>
inline void tile(const float* left, size_t row, size_t next, const float* right, size_t right_next, int summands, float* to,
                 size_t to_row) {
  Vector total[kTileRows][2] = {};
  for (int k = 0; k < summands; ++k, left += next, right += right_next) {
    const Vector first = load(right), second = load(right + kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kTileRows; ++i) {
      total[i][0] += left[i * row] * first;
      total[i][1] += left[i * row] * second;
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < kTileRows; ++i, to += to_row) {
    store(to, kAdd ? load(to) + total[i][0] : total[i][0]);
    store(to + kLanes, kAdd ? load(to + kLanes) + total[i][1] : total[i][1]);
  }
}

// to (rows, columns) = left (rows, summands) times packed panels; `rows` is a multiple of kTileRows.
inline void product(const float* left, int rows, int summands, const float* panels, int columns, float* to, size_t stride) {
  for (int c = 0; c < columns; c += kTileColumns, panels += size_t(summands) * kTileColumns)
    for (int r = 0; r < rows; r += kTileRows)
      tile<false>(left + r * stride, stride, 1, panels, kTileColumns, summands, to + r * stride + c, stride);
}

// to (inputs, outputs) += the transposed left (rows, inputs) times right (rows, outputs): a gradient of weights.
inline void add_outer(const float* left, int inputs, const float* right, int outputs, int rows, size_t stride, float* to,
                      size_t to_stride) {
  for (int c = 0; c < outputs; c += kTileColumns)
    for (int r = 0; r < inputs; r += kTileRows)
      tile<true>(left + r, 1, stride, right + c, stride, rows, to + r * to_stride + c, to_stride);
}
