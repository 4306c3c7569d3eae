// The functions that XLA calls: forward pass, backward pass and Adam.

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "adam.h"
#include "backward.h"
#include "checks.h"
#include "forward.h"

namespace {

// Calls work(item) for all items, on this thread and on idle threads of the pool.
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

// The heads of an ensemble; arrays have the heads along their first axis.
struct Ensemble {
  std::vector<Network> heads;
  int each;  // arrays per layer after the first
};

// Checks that the arrays fit together and splits them into heads. `others` begins with the weights, bias and, with a norm,
// scale and shift of every layer after the first.
Ensemble ensemble(const Array& x, const Array& base, const Array& first, const std::vector<Array>& others, int layers,
                  bool norm) {
  const Shape input = checked_shape(x, 2, {"x"}), size = checked_shape(first, 3, {"the first layer"});
  const Shape start = checked_shape(base, 3, {"base"});
  const int64_t heads = size[0], each = norm ? 4 : 2;
  check(heads > 0 && size[2] > 0 && start[1] > 0, "an ensemble without heads, units or base rows was given");
  check(heads * (input[0] / kBlock + layers + 1) < int64_t{1} << 30, "too many rows or heads were given");
  check_shape(first, {heads, input[1], size[2]}, {"the first layer"});
  check_shape(base, {heads, start[1], size[2]}, {"base"});
  Ensemble made{{}, int(each)};
  for (int64_t head = 0; head < heads; ++head) {
    const float* weights = first.typed_data() + head * size[1] * size[2];
    made.heads.push_back({x.typed_data(), base.typed_data() + head * start[1] * size[2], int(input[0]), int(start[1]),
                          {{weights, nullptr, nullptr, nullptr, int(size[1]), int(size[2]), false}}});
  }
  int64_t inputs = size[2];
  for (int l = 1; l < layers; ++l) {
    const size_t at = each * (l - 1);
    const int64_t outputs = checked_shape(others[at], 3, {"the weights of layer ", l})[2];
    check(outputs > 0, "layer ", l, " has no outputs");
    check_shape(others[at], {heads, inputs, outputs}, {"the weights of layer ", l});
    check_shape(others[at + 1], {heads, outputs}, {"the bias of layer ", l});
    if (norm) check_shape(others[at + 2], {heads, inputs}, {"the scale of layer ", l});
    if (norm) check_shape(others[at + 3], {heads, inputs}, {"the shift of layer ", l});
    for (int64_t head = 0; head < heads; ++head) {
      const float* weights = others[at].typed_data() + head * inputs * outputs;
      const float* bias = others[at + 1].typed_data() + head * outputs;
      const float* scale = norm ? others[at + 2].typed_data() + head * inputs : nullptr;
      const float* shift = norm ? others[at + 3].typed_data() + head * inputs : nullptr;
      const bool narrow = l + 1 == layers && outputs < kLanes;
      made.heads[head].layers.push_back({weights, bias, scale, shift, int(inputs), int(outputs), narrow});
    }
    inputs = outputs;
  }
  return made;
}

// Checks that arrays hold h_0, h_1, ... of all heads and rows.
void check_hidden(const Ensemble& all, const Array* hidden, size_t count) {
  const Network& net = all.heads[0];
  for (size_t i = 0; i < count; ++i)
    check_shape(hidden[i], {int64_t(all.heads.size()), net.rows, net.layers[i].outputs}, {"hidden layer ", int64_t(i)});
}

// All layers of all heads, prepared for products.
std::vector<std::vector<Prepared>> prepared(const Ensemble& all, Arena<0>& arena, bool backward, ffi::ThreadPool& pool,
                                            int threads) {
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

void forward_all(ffi::ThreadPool& pool, int threads, const Ensemble& all, const Array& output, const std::vector<Array>& kept) {
  Arena<0> arena(prepared_size(all));
  const auto ready = prepared(all, arena, false, pool, threads);
  const int rows = all.heads[0].rows, blocks = (rows + kBlock - 1) / kBlock;
  for_each(pool, threads, all.heads.size() * blocks, [&](int item) {
    const int head = item / blocks;
    const Network& net = all.heads[head];
    std::vector<float*> places;
    for (size_t i = 0; i < kept.size(); ++i) places.push_back(kept[i].typed_data() + size_t(head) * rows * net.layers[i].outputs);
    float* to = output.typed_data() + size_t(head) * rows * net.layers.back().outputs;
    forward(net, ready[head], item % blocks * kBlock, to, places);
  });
}

// (x, base, first weights, then each layer's arrays) -> (outputs, h_0, h_1, ...), or the outputs alone.
ffi::Error run_forward(ffi::ThreadPool pool, Array x, Array base, Array first, Arrays others, ffi::Result<Array> output,
                       Results kept, bool norm, int64_t devices) {
  return guarded("mvl_mlp_forward", [&] {
    const int threads = threads_for(pool, devices);
    const auto arrays = arrays_of(others, "array"), hidden = arrays_of(kept, "result");
    const size_t each = norm ? 4 : 2, layers = arrays.size() / each;
    check(layers > 0 && arrays.size() % each == 0,
          arrays.size(), " arrays are not whole layers of ", each);
    const Ensemble all = ensemble(x, base, first, arrays, layers + 1, norm);
    check_shape(*output, {int64_t(all.heads.size()), all.heads[0].rows, all.heads[0].layers.back().outputs}, {"the output"});
    check(hidden.empty() || hidden.size() == layers, hidden.size(), " hidden layers were given, expected ", layers);
    check_hidden(all, hidden.data(), hidden.size());
    forward_all(pool, threads, all, *output, hidden);
  });
}

// Arrays of the backward pass in addition to the ensemble.
struct Backward {
  const Array *hidden, *gradient;  // h_0, h_1, ... and the outputs; the outputs' gradients
  Array below, base;               // gradients of h_0 and of base
  std::vector<Array> layers;       // gradients of the first weights, then of each layer's arrays
};

// Backward pass of all heads. Rows are always split in the same way, so that sums do not depend on the number of threads.
void backward_all(ffi::ThreadPool& pool, int threads, const Ensemble& all, const Backward& given) {
  const Network& like = all.heads[0];
  const size_t stride = like.stride(), heads = all.heads.size();
  const int hidden = like.layers.size() - 1;
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
    for (int l = 0; l <= hidden; ++l) kept.push_back(given.hidden[l].typed_data() + size_t(head) * rows * net.layers[l].outputs);
    const float* above = given.gradient->typed_data() + size_t(head) * rows * net.layers.back().outputs;
    float* first_gradient = given.below.typed_data() + size_t(head) * rows * net.layers[0].outputs;
    sums[head][part] = Sums::in(memory[item], net, stride);
    for (int from = part * share; from < end; from += kBlock)
      backward(net, ready[head], from, std::min(kBlock, end - from), kept, above, sums[head][part], first_gradient);
  });
  for_each(pool, threads, heads * (hidden + 1), [&](int item) {
    const int head = item / (hidden + 1), l = item % (hidden + 1), at = 1 + all.each * (l - 1);
    const Layer& layer = all.heads[head].layers[l];
    const auto place = [&](int index, size_t size) { return given.layers[index].typed_data() + head * size; };
    LayerGradients to{place(l ? at : 0, size_t(layer.inputs) * layer.outputs), nullptr, nullptr, nullptr};
    if (l) to.bias = place(at + 1, layer.outputs);
    if (l && layer.scale) to.scale = place(at + 2, layer.inputs);
    if (l && layer.scale) to.shift = place(at + 3, layer.inputs);
    unfold(layer, sums[head], l, stride, to);
    if (l) return;
    const size_t size = size_t(like.period) * layer.outputs;
    for (int part = 1; part < parts; ++part) add(sums[head][part].base, size, sums[head][0].base);
    std::memcpy(given.base.typed_data() + head * size, sums[head][0].base, 4 * size);
  });
}

// (x, base, first weights, then each layer's arrays, h_0, h_1, ..., outputs, their gradients)
// -> gradients of (h_0, base, first weights, then each layer's arrays).
ffi::Error run_backward(ffi::ThreadPool pool, Array x, Array base, Array first, Arrays others, ffi::Result<Array> below,
                        ffi::Result<Array> based, Results results, bool norm, int64_t devices) {
  return guarded("mvl_mlp_backward", [&] {
    const int threads = threads_for(pool, devices);
    const auto arrays = arrays_of(others, "array"), made = arrays_of(results, "result");
    const size_t each = norm ? 4 : 2, layers = arrays.size() < 2 ? 0 : (arrays.size() - 2) / (each + 1);
    check(layers > 0 && arrays.size() == layers * (each + 1) + 2,
          arrays.size(), " arrays are not whole layers of ", each, ", their hidden values, outputs and gradients");
    const Ensemble all = ensemble(x, base, first, arrays, layers + 1, norm);
    const Array *hidden = arrays.data() + layers * each, *gradient = hidden + layers + 1;
    check_hidden(all, hidden, layers + 1);
    check_same_shape(*gradient, hidden[layers], {"the outputs' gradient"});
    check_same_shape(*below, hidden[0], {"the gradient of hidden layer 0"});
    check_same_shape(*based, base, {"the gradient of base"});
    check(made.size() == 1 + layers * each, made.size(), " gradients of layers were given, expected ", 1 + layers * each);
    check_same_shape(made[0], first, {"the gradient of the first layer"});
    for (size_t i = 1; i < made.size(); ++i) check_same_shape(made[i], arrays[i - 1], {"gradient ", int64_t(i)});
    backward_all(pool, threads, all, {hidden, gradient, *below, *based, made});
  });
}

// Checks the arrays of Adam: `given` has gradients, parameters, means, squares of all leaves and then copies (the target
// networks); `made` has all but the gradients, in the memory of the arguments.
void check_adam(const std::vector<Array>& given, const std::vector<Array>& made, ffi::Span<const int64_t> copies) {
  const size_t leaves = copies.size();
  check(given.size() >= 4 * leaves, given.size(), " arrays are too few for ", leaves, " parameters");
  check(made.size() == given.size() - leaves, made.size(), " results were given, expected ", given.size() - leaves);
  for (size_t i = 0; i < made.size(); ++i) {
    check_same_shape(made[i], given[leaves + i], {"result ", int64_t(i)});
    check(made[i].element_count() == 0 || made[i].untyped_data() == given[leaves + i].untyped_data(),
          "result ", i, " is not aliased to its argument");
  }
  std::vector<bool> taken(made.size() - 3 * leaves);
  for (size_t i = 0; i < leaves; ++i) {
    const Name copy{"the copy of parameter ", int64_t(i)};
    for (size_t kind = 1; kind < 4; ++kind)
      check_same_shape(given[kind * leaves + i], given[i], {"an array of parameter ", int64_t(i)});
    check(copies[i] < int64_t(taken.size()), copy, " is number ", copies[i], " of ", taken.size());
    if (copies[i] < 0) continue;
    check(!taken[copies[i]], copy, " also belongs to another one");
    taken[copies[i]] = true;
    check_same_shape(made[3 * leaves + copies[i]], given[i], copy);
  }
}

// (beta_1, beta_2, epsilon, follow, step, correction), then gradients, parameters, means and squares of all leaves, then copies,
// where leaf i has the copy number copies[i], or none if negative -> all but the rates and gradients, in the same memory.
ffi::Error run_adam(ffi::ThreadPool pool, Array rates, Arrays arrays, Results results, ffi::Span<const int64_t> copies,
                    int64_t devices) {
  return guarded("mvl_adam", [&] {
    const int threads = threads_for(pool, devices);
    const auto given = arrays_of(arrays, "array"), made = arrays_of(results, "result");
    check_shape(rates, {6}, {"rates"});
    check_adam(given, made, copies);
    const size_t leaves = copies.size();
    const float* r = rates.typed_data();
    const Rates used{r[0], r[1], r[2], r[3], r[4], r[5]};
    constexpr size_t kChunk = 1 << 14;
    std::vector<Moving> moving;
    std::vector<std::pair<size_t, size_t>> chunks;
    for (size_t i = 0; i < leaves; ++i) {
      float* copy = copies[i] < 0 ? nullptr : made[3 * leaves + copies[i]].typed_data();
      float *mean = made[leaves + i].typed_data(), *square = made[2 * leaves + i].typed_data();
      moving.push_back({made[i].typed_data(), mean, square, copy, given[i].typed_data()});
      for (size_t from = 0; from < given[i].element_count(); from += kChunk) chunks.push_back({i, from});
    }
    for_each(pool, threads, chunks.size(), [&](int item) {
      const auto [leaf, from] = chunks[item];
      adam(moving[leaf], from, std::min(from + kChunk, given[leaf].element_count()), used);
    });
  });
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(mvl_adam, run_adam,
                              ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<Array>().RemainingArgs().RemainingRets()
                                  .Attr<ffi::Span<const int64_t>>("copies").Attr<int64_t>("devices"));

#define MVL_BINDING ffi::Ffi::Bind().Ctx<ffi::ThreadPool>().Arg<Array>().Arg<Array>().Arg<Array>().RemainingArgs().Ret<Array>()

XLA_FFI_DEFINE_HANDLER_SYMBOL(mvl_mlp_forward, run_forward,
                              MVL_BINDING.RemainingRets().Attr<bool>("norm").Attr<int64_t>("devices"));
XLA_FFI_DEFINE_HANDLER_SYMBOL(mvl_mlp_backward, run_backward,
                              MVL_BINDING.Ret<Array>().RemainingRets().Attr<bool>("norm").Attr<int64_t>("devices"));
