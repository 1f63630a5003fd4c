// Three ranks share every step. Each gets as many steps as the others, each sample comes once, and a step of the three
// together holds what one rank with the joined batch size would get.
//
// 05_ranks FOLDER
//
// A training job starts one process per rank; rank and world size then come from torchrun, Slurm or MPI.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "forebay/forebay.h"

namespace fb = forebay;

using Ids = std::vector<int64_t>;
constexpr int kRanks = 3;

template <typename T>
static T value_or_exit(fb::Result<T> result) {
  if (result.ok()) return std::move(result).value();
  std::fprintf(stderr, "%s\n", result.status().to_string().c_str());
  std::exit(1);
}

/// The ids of each step of one epoch on one rank.
static std::vector<Ids> steps(const std::string& folder, int64_t batch_size, int rank, int world_size) {
  const auto pipeline = fb::images(folder).shuffle().select({"label"}).batch(batch_size);
  auto loader = value_or_exit(
      fb::Loader::open(pipeline, {.seed = 7, .epochs = 1, .job = {.rank = rank, .world_size = world_size}}));
  std::vector<Ids> all;
  while (auto batch = value_or_exit(loader->next())) all.push_back(batch->ids);
  return all;
}

static void print(const Ids& ids) {
  for (size_t i = 0; i < ids.size(); ++i) std::printf("%s%lld", i == 0 ? " [" : ", ", static_cast<long long>(ids[i]));
  std::printf("]");
}

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: 05_ranks FOLDER\n"), 2;

  std::vector<std::vector<Ids>> ranks;
  for (int rank = 0; rank < kRanks; ++rank) ranks.push_back(steps(argv[1], 2, rank, kRanks));

  std::vector<Ids> together = steps(argv[1], 2 * kRanks, 0, 1);
  for (size_t step = 0; step < together.size(); ++step) {
    std::printf("step %zu", step);
    Ids joined;
    for (const auto& rank : ranks) {
      print(rank.at(step));
      joined.insert(joined.end(), rank.at(step).begin(), rank.at(step).end());
    }
    std::sort(joined.begin(), joined.end());
    std::sort(together[step].begin(), together[step].end());
    std::printf(" as one: %s\n", joined == together[step] ? "yes" : "no");
  }
}
