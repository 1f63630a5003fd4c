// Measures what a row costs in a node of a plan above a single leaf, for runs of consecutive
// positions. Promised: at most 30 ns more for 2, 8 and 64 children of a mix and runs of 256. Prints
// ns of CPU a row, the least of several rounds that take turns, so that a busy machine delays all
// alike.

#include <time.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "plan/node.h"

namespace forebay {
namespace {

constexpr int64_t kRows = int64_t{1} << 20;  // of each round
constexpr int kRounds = 9;

std::vector<std::unique_ptr<PlanNode>> leaves(int64_t count) {
  std::vector<std::unique_ptr<PlanNode>> leaves;
  // Together as many samples as the single leaf has; no two have the same number.
  for (int64_t i = 0; i < count; ++i)
    leaves.push_back(leaf_node(shuffled_order(100'000'000 / count + 13 * i, 100 + static_cast<uint64_t>(i))));
  return leaves;
}

std::unique_ptr<PlanNode> mix(std::vector<std::unique_ptr<PlanNode>> children, uint64_t seed) {
  MixOptions options;
  options.seed = seed;
  options.stages = {{0, {}}};
  for (size_t i = 0; i < children.size(); ++i) options.stages[0].weights.push_back(static_cast<double>(1 + i % 7));
  return mix_node(std::move(children), options).value();
}

std::unique_ptr<PlanNode> mix_of_mixes(int64_t count) {
  std::vector<std::unique_ptr<PlanNode>> mixes;
  for (int64_t i = 0; i < count; ++i) mixes.push_back(mix(leaves(count), 10 + static_cast<uint64_t>(i)));
  return mix(std::move(mixes), 7);
}

double cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

struct Case {
  std::string name;
  std::unique_ptr<PlanNode> node;
  int64_t run = 0, step = 0;  // step: from the beginning of a run to that of the next one
  double best_ns = std::numeric_limits<double>::infinity();
  int64_t sum = 0;  // so that the draws are used
};

void measure(Case& c) {
  std::vector<Draw> draws(static_cast<size_t>(c.run));
  const int64_t runs = kRows / c.run / (c.step > c.run ? 8 : 1);
  const double begin = cpu_ns();
  for (int64_t i = 0; i < runs; ++i) {
    c.node->draws(1, i * c.step % (c.node->size() - c.run), draws);
    c.sum += draws.back().index;
  }
  c.best_ns = std::min(c.best_ns, (cpu_ns() - begin) / static_cast<double>(runs * c.run));
}

void measure_calls(const char* name, const PlanNode& node, const std::function<Order::Use(int64_t)>& call) {
  constexpr int64_t kCalls = 2000;
  double best = std::numeric_limits<double>::infinity();
  int64_t sum = 0;
  for (int round = 0; round < 3; ++round) {
    const double begin = cpu_ns();
    for (int64_t i = 0; i < kCalls; ++i) sum += call(i * 48'611 % node.size()).position;
    best = std::min(best, (cpu_ns() - begin) / kCalls);
  }
  std::printf("%-34s %8.0f ns a call   (%lld)\n", name, best, static_cast<long long>(sum % 10));
}

void add(std::vector<Case>* cases, const std::string& name, const std::function<std::unique_ptr<PlanNode>()>& make) {
  for (const int64_t run : {256, 32}) cases->push_back({name, make(), run, run});
  // One rank of many asks for a part of each window.
  cases->push_back({name + ", each 16th run", make(), 256, 16 * 256});
}

int run() {
  std::vector<Case> cases;
  add(&cases, "leaf", [] { return std::move(leaves(1)[0]); });
  for (const int64_t count : {2, 8, 64, 1000}) {
    const std::string children = std::to_string(count);
    add(&cases, "mix of " + children, [count] { return mix(leaves(count), 7); });
    add(&cases, "union of " + children, [count] { return shuffled_union_node(leaves(count), 7); });
  }
  add(&cases, "mix of 8 mixes of 8", [] { return mix_of_mixes(8); });
  add(&cases, "concat of 64", [] { return concat_node(leaves(64)); });
  for (int round = 0; round < kRounds; ++round) {
    for (Case& c : cases) measure(c);
  }
  std::printf("%-34s %8s %8s   %s\n", "node", "run", "ns a row", "above a leaf");
  for (size_t i = 0; i < cases.size(); ++i)
    std::printf("%-34s %8lld %8.1f   %8.1f\n", cases[i].name.c_str(), static_cast<long long>(cases[i].run),
                cases[i].best_ns, cases[i].best_ns - cases[i % 3].best_ns);

  for (const int64_t count : {8, 1000}) {
    const auto node = mix(leaves(count), 7);
    std::printf("mix of %lld, at random positions:\n", static_cast<long long>(count));
    measure_calls("  next_draw", *node, [&](int64_t at) { return node->next_draw(3, {1, at}); });
    measure_calls("  position_of", *node, [&](int64_t at) { return node->position_of(3, {at % 5, at % 90'000}); });
    const double begin = cpu_ns();
    const auto again = mix(leaves(count), 8);
    std::printf("  %-32s %8.0f us\n", "make it, with its leaves", (cpu_ns() - begin) / 1000);
  }
  return 0;
}

}  // namespace
}  // namespace forebay

int main() { return forebay::run(); }
