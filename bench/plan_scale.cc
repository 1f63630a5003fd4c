// Measures the plans of large jobs in CPU time. The first part plans the steps of one rank of 1,024
// with batches of 32, which should take at most 1 ms each. The second part plans batches of like
// lengths and packed blocks from 10^8 lengths, and also prints the memory that they take.
//
//   bench_plan_scale [LENGTHS]     (100000000)

#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "pipeline/itinerary.h"
#include "plan/bucketed_batches.h"
#include "plan/packing.h"

namespace forebay {
namespace {

constexpr int64_t kRanks = 1024, kBatch = 32, kSamples = 100'000'000;

double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double resident_mb(const char* which) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(which)) return std::atof(line.c_str() + line.find(':') + 1) / 1024;
  return 0;
}

// From here on VmHWM is the peak since this call.
void forget_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

std::unique_ptr<PlanNode> mix_of(int64_t parts) {
  std::vector<std::unique_ptr<PlanNode>> leaves;
  MixOptions options{.seed = 7, .stages = {{0, {}}}};
  for (int64_t i = 0; i < parts; ++i) {
    leaves.push_back(leaf_node(shuffled_order(kSamples / parts + 13 * i, 100 + static_cast<uint64_t>(i))));
    options.stages[0].weights.push_back(static_cast<double>(1 + i % 7));
  }
  return mix_node(std::move(leaves), options).value();
}

std::vector<float> random_lengths(int64_t count) {
  std::vector<float> lengths;
  lengths.reserve(static_cast<size_t>(count));
  uint64_t state = 1;
  const auto uniform = [&] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (static_cast<double>(state >> 11) + 0.5) * 0x1p-53;
  };
  for (int64_t i = 0; i < count; ++i) {
    const double normal = std::sqrt(-2 * std::log(uniform())) * std::cos(6.283185307179586 * uniform());
    lengths.push_back(static_cast<float>(std::ceil(300 * std::exp(0.6 * normal))));
  }
  return lengths;
}

void measure_steps(const char* name, std::shared_ptr<const PlanNode> plan, std::shared_ptr<const Schedule> schedule) {
  constexpr int kSteps = 200;
  std::vector<BranchSamples> branches(plan->leaves());
  for (size_t leaf = 0; leaf < branches.size(); ++leaf)
    branches[leaf].selection = first_samples(plan->order(leaf).size());
  const IndexedItinerary steps(std::move(plan), std::move(branches), std::move(schedule), 517, std::nullopt);
  double best = std::numeric_limits<double>::infinity(), worst = 0, all = 0;
  Cursor at;
  int64_t rows = 0;
  for (int step = 0; step < kSteps; ++step) {
    const double begun = cpu_ms();
    const StepPlan planned = steps.planned(at).value();
    const double took = cpu_ms() - begun;
    best = std::min(best, took);
    all += took;
    if (step > 0) worst = std::max(worst, took);
    rows += std::ssize(planned.rows);
    at = planned.after;
  }
  std::printf("%-44s %8.4f %8.4f %8.4f ms  %6.1f rows\n", name, best, all / kSteps, worst,
              static_cast<double>(rows) / kSteps);
}

std::shared_ptr<const Schedule> equal_batches(const PlanNode& plan, std::shared_ptr<const ShardAssignment> assignment) {
  const ScheduleOptions options{.epoch_size = plan.size(), .batch_size = kBatch, .world_size = kRanks};
  return std::make_shared<const EqualBatches>(options, std::move(assignment));
}

void measure_all_steps() {
  std::printf("a step of one rank of %lld %25s %8s %8s\n", static_cast<long long>(kRanks), "least", "mean", "most");
  const std::shared_ptr<const PlanNode> leaf = leaf_node(shuffled_order(kSamples, 1));
  measure_steps("one data set", leaf, equal_batches(*leaf, assignment_by_count()));
  for (const int64_t parts : {8, 64, 1000}) {
    const std::shared_ptr<const PlanNode> mix = mix_of(parts);
    const std::string name = "mix of " + std::to_string(parts);
    measure_steps(name.c_str(), mix, equal_batches(*mix, assignment_by_count()));
    const std::vector<int64_t> lanes(static_cast<size_t>(parts), kRanks);
    measure_steps((name + ", rows by lanes of each part").c_str(), mix,
                  equal_batches(*mix, assignment_by_leaf(mix, lanes)));
  }
}

void measure_buckets(const std::shared_ptr<const std::vector<float>>& lengths, int64_t ranks) {
  forget_peak();
  const double before = resident_mb("VmRSS"), begun = cpu_ms();
  const std::shared_ptr<const PlanNode> plan = leaf_node(shuffled_order(std::ssize(*lengths), 1));
  BucketingOptions options;
  options.rules.budget = 16'000;
  options.group = 24;
  options.window = window_of_groups(options.rules, {{lengths}}, options.group, 100);
  const auto batches = std::make_shared<const BucketedBatches>(plan, std::vector{lengths}, options, ranks);
  const double made = cpu_ms();
  const int64_t steps = batches->steps_left({0, 0});
  const double counted = cpu_ms();
  std::printf(
      "buckets, %lld ranks: made in %.0f ms, all %lld steps of an epoch counted in %.0f ms, %.0f MB more at most\n",
      static_cast<long long>(ranks), made - begun, static_cast<long long>(steps), counted - made,
      resident_mb("VmHWM") - before);
  measure_steps("  a step", plan, batches);
}

void measure_packs(const std::vector<float>& lengths, const char* name, const PackingOptions& options) {
  std::vector<uint32_t> whole(lengths.begin(), lengths.end());
  forget_peak();
  const double before = resident_mb("VmRSS"), begun = cpu_ms();
  const Packing packing = Packing::make(std::move(whole), {}, options).value();
  std::printf("%-10s %lld blocks, %.2f %% filled, in %.0f ms; keeps %.0f MB, %.0f MB more at most than the lengths\n",
              name, static_cast<long long>(packing.size()),
              100.0 * static_cast<double>(packing.elements()) / static_cast<double>(packing.size() * packing.length()),
              cpu_ms() - begun, static_cast<double>(packing.bytes()) / 1e6, resident_mb("VmHWM") - before);
}

int run(int64_t count) {
  measure_all_steps();
  const auto lengths = std::make_shared<const std::vector<float>>(random_lengths(count));
  std::printf("\n%lld lengths, %.0f MB as floats\n", static_cast<long long>(count), static_cast<double>(count) * 4e-6);
  for (const int64_t ranks : {int64_t{8}, kRanks}) measure_buckets(lengths, ranks);
  measure_packs(*lengths, "first-fit", {.length = 2048});
  measure_packs(*lengths, "best-fit", {.length = 2048, .rule = PackingRule::kBestFit});
  measure_packs(*lengths, "cut", {.length = 2048, .rule = PackingRule::kCut});
  return 0;
}

}  // namespace
}  // namespace forebay

int main(int argc, char** argv) { return forebay::run(argc > 1 ? std::atoll(argv[1]) : 100'000'000); }
