#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "plan/balanced_order.h"
#include "plan/class_line.h"
#include "plan/drawn_order.h"

namespace forebay {

inline DrawnOptions drawn_options(int64_t samples, std::vector<double> weights, int64_t draws, bool shuffled,
                                  uint64_t seed = 3) {
  DrawnOptions options;
  options.line = shuffled ? shuffled_order(samples, seed + 1) : sequential_order(samples);
  options.weights = std::move(weights);
  options.draws = draws;
  options.seed = seed;
  options.order = [shuffled, seed](const std::optional<std::vector<int64_t>>&, int64_t size) {
    return Result(shuffled ? shuffled_order(size, seed) : sequential_order(size));
  };
  return options;
}

/// Samples that are read one by one.
inline std::unique_ptr<Order> drawn_samples(int64_t samples, std::vector<double> weights, int64_t draws,
                                            bool shuffled = true, uint64_t seed = 3) {
  return drawn_order(drawn_options(samples, std::move(weights), draws, shuffled, seed)).value();
}

// The chunks of drawn_rows().
inline const std::vector<int64_t> kTestChunks = {7, 0, 20, 1, 30, 12, 50, 3, 9, 28};
constexpr int64_t kTestRows = 160;

inline int64_t chunk_of_test_sample(int64_t id) {
  int64_t chunk = 0;
  for (int64_t end = kTestChunks[0]; end <= id; end += kTestChunks[static_cast<size_t>(chunk)]) ++chunk;
  return chunk;
}

/// Rows of chunks, shuffled in blocks of three; in order if `lanes` is 0.
inline std::unique_ptr<Order> drawn_rows(std::vector<double> weights, int64_t draws, int64_t lanes) {
  DrawnOptions options;
  options.line = lanes == 0 ? sequential_chunks_order(kTestChunks)
                            : std::shared_ptr<const Order>(blockwise_order({kTestChunks, 1, 1, 8}).value());
  options.weights = std::move(weights);
  options.draws = draws;
  options.order = [lanes](const std::optional<std::vector<int64_t>>& rows, int64_t) {
    return lanes == 0 ? Result(sequential_chunks_order(*rows)) : blockwise_order({*rows, 3, lanes, 9});
  };
  return drawn_order(options).value();
}

/// Rows of the same chunks, of classes in equal shares.
inline std::unique_ptr<Order> balanced_rows(const std::vector<int32_t>& class_of, int64_t draws, int64_t lanes) {
  DrawnOptions options;
  options.line = class_line(class_of, kTestChunks);
  for (const int32_t number : class_of)
    options.weights.push_back(1 / static_cast<double>(std::ranges::count(class_of, number)));
  options.draws = draws;
  options.order = [lanes](const std::optional<std::vector<int64_t>>& rows, int64_t) {
    return lanes == 0 ? Result(sequential_chunks_order(*rows)) : blockwise_order({*rows, 3, lanes, 9});
  };
  return drawn_order(options).value();
}

inline std::unique_ptr<Order> balanced_samples(std::vector<int32_t> class_of, int64_t size, bool shuffled = true,
                                               uint64_t seed = 3) {
  return balanced_order({std::move(class_of), size, [shuffled, seed](int64_t count, int64_t number) {
                           return shuffled ? shuffled_order(count, seed + 1000 * static_cast<uint64_t>(number))
                                           : sequential_order(count);
                         }});
}

}  // namespace forebay
