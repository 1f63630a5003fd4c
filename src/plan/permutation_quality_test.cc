// Tests whether the permutation is as good as a random one. Each statistic is given in standard
// deviations from chance, over fixed seeds. Each is also computed for the same network with two
// rounds, which it must reject: a test that cannot fail proves nothing.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "plan/permutation.h"
#include "plan/test_statistics.h"

namespace forebay {
namespace {

constexpr double kChance = 4.5;
constexpr double kCondemned = 10;

struct Family {
  PermutationShape shape;
  Permutation operator()(uint64_t seed, int64_t epoch) const {
    return {shape, PermutationKey::root(seed, PermutationKey::Use::kOrder).child(epoch)};
  }
  int64_t size() const { return shape.size; }
};

Family real(int64_t size) { return {PermutationShape::of(size)}; }

Family weak(int64_t size) {
  Family family = real(size);
  family.shape.rounds = 2;
  return family;
}

// Sizes with equal halves, unequal halves, and just above a power of two.
const std::vector<int64_t> kSizes{65, 100, 129, 1000, 2100, 65'537, 262'144, 1'000'003};

using Statistic = std::function<double(const Family&)>;

void expect_only_weak_is_condemned(const Statistic& statistic, const std::vector<int64_t>& sizes = kSizes) {
  for (int64_t size : sizes) {
    EXPECT_LT(std::abs(statistic(real(size))), kChance) << "size " << size;
    EXPECT_GT(std::abs(statistic(weak(size))), kCondemned) << "size " << size << ", two rounds";
  }
}

// Enough permutations that even small sizes give a million ids.
int64_t epochs_for(int64_t size) { return std::max<int64_t>(2, 1'000'000 / size); }

// Divides the numbers of [0, size) into `cells` cells of nearly equal width.
class Cells {
 public:
  Cells(int64_t size, int64_t cells) : size_(size), widths_(static_cast<size_t>(cells)) {
    for (int64_t i = 0; i < size; ++i) widths_[of(i)] += 1;
  }
  size_t count() const { return widths_.size(); }
  size_t of(int64_t index) const { return static_cast<size_t>(index * static_cast<int64_t>(count()) / size_); }
  double share(size_t cell) const { return widths_[cell] / static_cast<double>(size_); }

 private:
  int64_t size_;
  std::vector<double> widths_;
};

// Chi-square of the pairs (p, at(p)) of one whole permutation.
class PairTable {
 public:
  explicit PairTable(int64_t size) : cells_(size, size < 1000 ? 8 : 32), counts_(cells_.count() * cells_.count()) {}
  void add(int64_t a, int64_t b) { ++counts_[cells_.of(a) * cells_.count() + cells_.of(b)]; }
  void clear() { std::fill(counts_.begin(), counts_.end(), 0); }
  double sigmas() const {
    double total = 0;
    for (int64_t count : counts_) total += static_cast<double>(count);
    std::vector<double> expected;
    for (size_t a = 0; a < cells_.count(); ++a) {
      for (size_t b = 0; b < cells_.count(); ++b) expected.push_back(total * cells_.share(a) * cells_.share(b));
    }
    const auto n = static_cast<double>(cells_.count());
    // In a whole permutation each row and column holds exactly its share, and draws are without
    // replacement.
    return chi_square_sigmas(counts_, expected, (n - 1) * (n - 1), total / (total - 1));
  }

 private:
  Cells cells_;
  std::vector<int64_t> counts_;
};

// Mean over `epochs` tables, one for each epoch, which `add` fills.
double mean_of_tables(int64_t size, int64_t epochs, const std::function<void(int64_t epoch, PairTable*)>& add) {
  PairTable table(size);
  double sum = 0;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    table.clear();
    add(epoch, &table);
    sum += table.sigmas();
  }
  return sum / std::sqrt(static_cast<double>(epochs));
}

TEST(PermutationQualityTest, positions_say_nothing_about_ids) {
  expect_only_weak_is_condemned([](const Family& family) {
    return mean_of_tables(family.size(), epochs_for(family.size()), [&](int64_t epoch, PairTable* table) {
      const Permutation permutation = family(11, epoch);
      for (int64_t p = 0; p < family.size(); ++p) table->add(p, permutation.at(p));
    });
  });
}

// Tests that id(p + stride) - id(p) takes all values but 0 equally often.
double difference_sigmas(const Family& family, int64_t stride) {
  const int64_t size = family.size();
  const Cells cells(size - 1, 64);
  std::vector<int64_t> counts(cells.count());
  double total = 0;
  for (int64_t epoch = 0; epoch < epochs_for(size); ++epoch) {
    const Permutation permutation = family(13, epoch);
    for (int64_t p = 0; p + stride < size; ++p, ++total) {
      const int64_t difference = permutation.at(p + stride) - permutation.at(p);
      ++counts[cells.of((difference + size) % size - 1)];
    }
  }
  std::vector<double> expected;
  for (size_t cell = 0; cell < cells.count(); ++cell) expected.push_back(total * cells.share(cell));
  return chi_square_sigmas(counts, expected, static_cast<double>(cells.count()) - 1);
}

TEST(PermutationQualityTest, neighbours_are_unrelated) {
  expect_only_weak_is_condemned([](const Family& family) { return difference_sigmas(family, 1); });
}

// Positions with the same right half show first if a Feistel network has too few rounds.
TEST(PermutationQualityTest, positions_one_row_apart_are_unrelated) {
  expect_only_weak_is_condemned(
      [](const Family& family) { return difference_sigmas(family, int64_t{1} << family.shape.right_bits); });
}

// The correlation of each id with the next one, over many epochs.
TEST(PermutationQualityTest, no_serial_correlation) {
  const auto correlation_sigmas = [](const Family& family) {
    double squares = 0;
    constexpr int64_t kEpochs = 50;
    for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
      const Permutation permutation = family(17, epoch);
      const auto size = static_cast<double>(family.size());
      const double mean = (size - 1) / 2, variance = (size * size - 1) / 12;
      double sum = 0;
      for (int64_t p = 0; p < family.size(); ++p) {
        const auto here = static_cast<double>(permutation.at(p)) - mean;
        sum += here * (static_cast<double>(permutation.at((p + 1) % family.size())) - mean);
      }
      const double correlation = sum / (size * variance);
      squares += (correlation + 1 / (size - 1)) * (correlation + 1 / (size - 1)) * size;
    }
    return (squares - kEpochs) / std::sqrt(2.0 * kEpochs);
  };
  expect_only_weak_is_condemned(correlation_sigmas, {2100, 65'537, 262'144});
}

TEST(PermutationQualityTest, epochs_are_unrelated) {
  expect_only_weak_is_condemned([](const Family& family) {
    return mean_of_tables(family.size(), epochs_for(family.size()), [&](int64_t epoch, PairTable* table) {
      const Permutation now = family(19, epoch), next = family(19, epoch + 1);
      for (int64_t p = 0; p < family.size(); ++p) table->add(now.at(p), next.at(p));
    });
  });
}

TEST(PermutationQualityTest, seeds_are_unrelated) {
  expect_only_weak_is_condemned([](const Family& family) {
    return mean_of_tables(family.size(), epochs_for(family.size()), [&](int64_t epoch, PairTable* table) {
      const auto seed = static_cast<uint64_t>(epoch);
      const Permutation one = family(seed, 0), other = family(seed + 1, 0);
      for (int64_t p = 0; p < family.size(); ++p) table->add(one.at(p), other.at(p));
    });
  });
}

// Compares with seeds and epochs that differ in any one bit. Two permutations agree in one place on
// average.
TEST(PermutationQualityTest, close_keys_agree_no_more_than_chance) {
  constexpr int64_t kSize = 10'007;
  const Family family = real(kSize);
  const Permutation base = family(23, 5);
  int64_t agree = 0, compared = 0;
  for (int bit = 0; bit < 63; ++bit) {
    const Permutation seed = family(23 ^ uint64_t{1} << bit, 5), epoch = family(23, 5 ^ int64_t{1} << bit);
    for (int64_t p = 0; p < kSize; ++p) agree += (base.at(p) == seed.at(p)) + (base.at(p) == epoch.at(p));
    compared += 2;
  }
  EXPECT_NEAR(static_cast<double>(agree), static_cast<double>(compared), 4 * std::sqrt(compared));
}

// The ids of two positions that share a half, over many epochs: all pairs must be equally frequent.
TEST(PermutationQualityTest, pairs_of_small_sizes_are_even) {
  for (int64_t size : {65, 72, 100, 129}) {
    const auto pair_sigmas = [](const Family& family) {
      const int64_t n = family.size(), draws = 12 * n * n;
      std::vector<int64_t> counts(static_cast<size_t>(n * n));
      for (int64_t epoch = 0; epoch < draws; ++epoch) {
        const Permutation permutation = family(29, epoch);
        ++counts[static_cast<size_t>(permutation.at(3) * n +
                                     permutation.at(3 + (int64_t{1} << family.shape.right_bits)))];
      }
      const double pairs = static_cast<double>(n) * static_cast<double>(n - 1);
      std::vector<double> expected(counts.size(), static_cast<double>(draws) / pairs);
      for (int64_t i = 0; i < n; ++i) expected[static_cast<size_t>(i * n + i)] = 0;
      return chi_square_sigmas(counts, expected, pairs - 1);
    };
    expect_only_weak_is_condemned(pair_sigmas, {size});
  }
}

// Counts how often each order of a tiny size occurs; tiny sizes are shuffled exactly.
std::vector<int64_t> frequencies_of_orders(int64_t size, size_t orders,
                                           const std::function<Permutation(int64_t)>& make) {
  std::vector<std::vector<int64_t>> all;
  std::vector<int64_t> order(static_cast<size_t>(size));
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  do all.push_back(order);
  while (std::next_permutation(order.begin(), order.end()));
  EXPECT_EQ(all.size(), orders);
  std::vector<int64_t> counts(all.size());
  for (int64_t draw = 0; draw < 120'000; ++draw) {
    const Permutation permutation = make(draw);
    for (int64_t p = 0; p < size; ++p) order[static_cast<size_t>(p)] = permutation.at(p);
    ++counts[static_cast<size_t>(std::lower_bound(all.begin(), all.end(), order) - all.begin())];
  }
  return counts;
}

TEST(PermutationQualityTest, all_orders_of_tiny_sizes_are_as_frequent) {
  for (const auto& [size, orders] : {std::pair<int64_t, size_t>{2, 2}, {3, 6}, {4, 24}, {5, 120}, {6, 720}}) {
    const Family family = real(size);
    const auto seeds = [&](int64_t draw) { return family(static_cast<uint64_t>(draw), 0); };
    const auto epochs = [&](int64_t draw) { return family(31, draw); };
    EXPECT_LT(std::abs(chi_square_sigmas(frequencies_of_orders(size, orders, seeds))), kChance) << size;
    EXPECT_LT(std::abs(chi_square_sigmas(frequencies_of_orders(size, orders, epochs))), kChance) << size;
  }
}

TEST(PermutationQualityTest, every_place_of_tables_is_even) {
  for (int64_t size : {7, 31, 64}) {
    std::vector<int64_t> counts(static_cast<size_t>(size * size));
    for (int64_t epoch = 0; epoch < 20'000; ++epoch) {
      const Permutation permutation = real(size)(37, epoch);
      for (int64_t p = 0; p < size; ++p) ++counts[static_cast<size_t>(p * size + permutation.at(p))];
    }
    const std::vector<double> expected(counts.size(), 20'000.0 / static_cast<double>(size));
    EXPECT_LT(std::abs(chi_square_sigmas(counts, expected, static_cast<double>((size - 1) * (size - 1)))), kChance)
        << size;
  }
}

// The number of ids that keep their place is Poisson with mean 1.
TEST(PermutationQualityTest, ids_in_place_are_as_rare_as_chance) {
  for (int64_t size : {65, 300, 5000}) {
    const int64_t epochs = 4000;
    double sum = 0, squares = 0;
    for (int64_t epoch = 0; epoch < epochs; ++epoch) {
      const Permutation permutation = real(size)(41, epoch);
      int64_t here = 0;
      for (int64_t p = 0; p < size; ++p) here += permutation.at(p) == p;
      sum += static_cast<double>(here);
      squares += static_cast<double>(here * here);
    }
    const double mean = sum / epochs, variance = squares / epochs - mean * mean;
    EXPECT_NEAR(mean, 1, 4 / std::sqrt(epochs)) << size;
    EXPECT_NEAR(variance, 1, 4 * std::sqrt(3.0 / epochs)) << size;
  }
}

}  // namespace
}  // namespace forebay
