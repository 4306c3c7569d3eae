// The kernels as XLA calls them.

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "adam.h"
#include "backward.h"
#include "forward.h"
#include "xla/ffi/api/ffi.h"

namespace ffi = xla::ffi;

namespace {

using Array = ffi::Buffer<ffi::F32>;
using Arrays = ffi::RemainingArgs;
using Results = ffi::RemainingRets;

// All items, by this thread and as many others as come to help before it has done them.
void for_each(ffi::ThreadPool& pool, int threads, int items, std::function<void(int)> work) {
  struct Shared {
    std::function<void(int)> work;
    int items;
    std::atomic<int> next{0}, done{0};
    void help() {
      for (int item; (item = next.fetch_add(1)) < items; done.fetch_add(1)) work(item);
    }
  };
  auto shared = std::make_shared<Shared>();
  shared->work = std::move(work);
  shared->items = items;
  for (int helper = 1; helper < std::min(threads, items); ++helper) pool.Schedule([shared] { shared->help(); });
  shared->help();
  while (shared->done.load() < items) std::this_thread::yield();
}

const float* data(const Arrays& arrays, int index) { return arrays.get<Array>(index)->typed_data(); }
float* data(const Results& results, int index) { return (*results.get<Array>(index))->typed_data(); }

// Arrays of all heads have them along their first axis; after the first kernel come kernel, bias and, with a norm, scale and
// shift of every further layer.
struct Ensemble {
  std::vector<Network> heads;
  int each;  // arrays of a layer
};

Ensemble ensemble(Array x, Array base, Array first, const Arrays& others, int layers, bool norm) {
  const auto size = first.dimensions(), start = base.dimensions();
  const int count = size[0], each = norm ? 4 : 2;
  Ensemble made{{}, each};
  for (int head = 0; head < count; ++head) {
    Network net{x.typed_data(), base.typed_data() + head * start[1] * start[2], int(x.dimensions()[0]), int(start[1]), {}};
    net.layers.push_back({first.typed_data() + head * size[1] * size[2], nullptr, nullptr, nullptr, int(size[1]), int(size[2]), false});
    for (int l = 1; l < layers; ++l) {
      const int at = each * (l - 1);
      const auto shape = others.get<Array>(at)->dimensions();
      const int inputs = shape[1], outputs = shape[2];
      const float* scale = norm ? data(others, at + 2) + size_t(head) * inputs : nullptr;
      const float* shift = norm ? data(others, at + 3) + size_t(head) * inputs : nullptr;
      net.layers.push_back({data(others, at) + size_t(head) * inputs * outputs, data(others, at + 1) + size_t(head) * outputs, scale,
                            shift, inputs, outputs, l + 1 == layers && outputs < kLanes});
    }
    made.heads.push_back(net);
  }
  return made;
}

// Every layer of every head, ready for products.
std::vector<std::vector<Prepared>> prepared(const Ensemble& all, Arena<0>& arena, bool backward, ffi::ThreadPool& pool, int threads) {
  const int layers = all.heads[0].layers.size(), heads = all.heads.size();
  const size_t stride = all.heads[0].stride();
  std::vector<std::vector<Prepared>> ready(heads, std::vector<Prepared>(layers));
  std::vector<float*> memory;
  for (const Network& net : all.heads)
    for (const Layer& layer : net.layers) memory.push_back(arena.take(Prepared::size(layer, stride)));
  for_each(pool, threads, heads * layers, [&](int item) {
    const int head = item / layers, l = item % layers;
    if (l || !backward) ready[head][l] = prepare(all.heads[head].layers[l], memory[item], stride, backward);
  });
  return ready;
}

size_t prepared_size(const Ensemble& all) {
  size_t size = 0;
  for (const Layer& layer : all.heads[0].layers) size += Prepared::size(layer, all.heads[0].stride()) + 16;
  return size * all.heads.size();
}

// (x, base, K_0, then each layer's arrays) -> (outputs, h_0, h_1, ...), or the outputs alone.
ffi::Error run_forward(ffi::ThreadPool pool, Array x, Array base, Array first, Arrays others, ffi::Result<Array> output,
                       Results kept, bool norm, int64_t devices) {
  const int threads = std::max<int64_t>(1, pool.num_threads() / devices);
  const Ensemble all = ensemble(x, base, first, others, others.size() / (norm ? 4 : 2) + 1, norm);
  Arena<0> arena(prepared_size(all));
  const auto ready = prepared(all, arena, false, pool, threads);
  const int rows = all.heads[0].rows, blocks = (rows + kBlock - 1) / kBlock;
  for_each(pool, threads, all.heads.size() * blocks, [&](int item) {
    const int head = item / blocks;
    const Network& net = all.heads[head];
    std::vector<float*> places;
    for (size_t i = 0; i < kept.size(); ++i) places.push_back(data(kept, i) + size_t(head) * rows * net.layers[i].outputs);
    forward(net, ready[head], item % blocks * kBlock, output->typed_data() + size_t(head) * rows * net.layers.back().outputs, places);
  });
  return ffi::Error::Success();
}

// (x, base, K_0, then each layer's arrays, h_0, h_1, ..., outputs, their gradients)
// -> gradients of (h_0, base, K_0, then each layer's arrays).
// Rows are shared out in a fixed way, so that sums do not depend on how many threads there are.
ffi::Error run_backward(ffi::ThreadPool pool, Array x, Array base, Array first, Arrays others, ffi::Result<Array> below,
                        ffi::Result<Array> based, Results results, bool norm, int64_t devices) {
  const int threads = std::max<int64_t>(1, pool.num_threads() / devices);
  const int hidden = (others.size() - 2) / (norm ? 5 : 3);
  const Ensemble all = ensemble(x, base, first, others, hidden + 1, norm);
  const Network& like = all.heads[0];
  const size_t stride = like.stride(), heads = all.heads.size();
  const int rows = like.rows, parts = rows > kBlock ? 2 : 1, share = rounded((rows + parts - 1) / parts, kTileRows);
  Arena<0> arena(prepared_size(all) + heads * parts * (Sums::size(like, stride) + 16));
  const auto ready = prepared(all, arena, true, pool, threads);
  std::vector<std::vector<Sums>> sums(heads, std::vector<Sums>(parts));
  std::vector<float*> memory;
  for (size_t i = 0; i < heads * parts; ++i) memory.push_back(arena.take(Sums::size(like, stride)));
  for_each(pool, threads, heads * parts, [&](int item) {
    const int head = item / parts, part = item % parts, end = std::min(rows, (part + 1) * share);
    const Network& net = all.heads[head];
    std::vector<const float*> kept;
    for (int l = 0; l <= hidden; ++l)
      kept.push_back(data(others, all.each * hidden + l) + size_t(head) * rows * net.layers[l].outputs);
    const float* above = data(others, (all.each + 1) * hidden + 1) + size_t(head) * rows * net.layers.back().outputs;
    float* first_gradient = below->typed_data() + size_t(head) * rows * net.layers[0].outputs;
    sums[head][part] = Sums::in(memory[item], net, stride);
    for (int from = part * share; from < end; from += kBlock)
      backward(net, ready[head], from, std::min(kBlock, end - from), kept, above, sums[head][part], first_gradient);
  });
  for_each(pool, threads, heads * (hidden + 1), [&](int item) {
    const int head = item / (hidden + 1), l = item % (hidden + 1), at = 1 + all.each * (l - 1);
    const Layer& layer = all.heads[head].layers[l];
    LayerGradients to{data(results, l ? at : 0) + size_t(head) * layer.inputs * layer.outputs, nullptr, nullptr, nullptr};
    if (l) to.bias = data(results, at + 1) + size_t(head) * layer.outputs;
    if (l && norm) to.scale = data(results, at + 2) + size_t(head) * layer.inputs;
    if (l && norm) to.shift = data(results, at + 3) + size_t(head) * layer.inputs;
    unfold(layer, sums[head], l, stride, to);
    if (l) return;
    const size_t size = size_t(like.period) * layer.outputs;
    for (int part = 1; part < parts; ++part) add(sums[head][part].base, size, sums[head][0].base);
    std::memcpy(based->typed_data() + head * size, sums[head][0].base, 4 * size);
  });
  return ffi::Error::Success();
}

// (beta_1, beta_2, epsilon, follow, step, correction), then gradients, parameters, averages and their squares of all leaves,
// then copies, of which leaf i has the one at place copies[i], or none -> all but the first two kinds, in the same places.
ffi::Error run_adam(ffi::ThreadPool pool, Array rates, Arrays arrays, Results results, ffi::Span<const int64_t> copies,
                    int64_t devices) {
  const int leaves = copies.size();
  const float* r = rates.typed_data();
  const Rates given{r[0], r[1], r[2], r[3], r[4], r[5]};
  constexpr size_t kChunk = 1 << 14;
  std::vector<Moving> moving;
  std::vector<std::pair<int, size_t>> chunks;
  for (int i = 0; i < leaves; ++i) {
    float* copy = copies[i] < 0 ? nullptr : data(results, 3 * leaves + copies[i]);
    moving.push_back({data(results, i), data(results, leaves + i), data(results, 2 * leaves + i), copy, data(arrays, i)});
    for (size_t from = 0; from < arrays.get<Array>(i)->element_count(); from += kChunk) chunks.push_back({i, from});
  }
  for_each(pool, std::max<int64_t>(1, pool.num_threads() / devices), chunks.size(), [&](int item) {
    const auto [leaf, from] = chunks[item];
    adam(moving[leaf], from, std::min(from + kChunk, arrays.get<Array>(leaf)->element_count()), given);
  });
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(mvl_adam, run_adam,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<Array>().RemainingArgs().RemainingRets()
                                  .Attr<ffi::Span<const int64_t>>("copies").Attr<int64_t>("devices"));

#define MVL_BINDING ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<Array>().Arg<Array>().Arg<Array>().RemainingArgs().Ret<Array>()

XLA_FFI_DEFINE_HANDLER_SYMBOL(mvl_mlp_forward, run_forward, MVL_BINDING.RemainingRets().Attr<bool>("norm").Attr<int64_t>("devices"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(mvl_mlp_backward, run_backward,
                              MVL_BINDING.Ret<Array>().RemainingRets().Attr<bool>("norm").Attr<int64_t>("devices"));
