#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "forebay/ledger.h"
#include "pictures.h"

namespace forebay::tests {
namespace {

// Huge pages come and go by 2 MiB, which would hide what is looked for.
class NoHugePages {
 public:
  NoHugePages() { prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); }
  ~NoHugePages() { prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0); }
  NoHugePages(const NoHugePages&) = delete;
  NoHugePages& operator=(const NoHugePages&) = delete;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

TEST(SteadyMemory, resident_memory_is_flat_over_200_epochs) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps freed memory";
  const NoHugePages here;
  // Batches of 9.6 MB: what the heap breathes from epoch to epoch is little beside them, a sample kept an epoch is not.
  const GeneratedPictures pictures(60, 320);
  // One epoch more than is looked at: in the last one, nothing of a next one is there.
  const auto loader = opened(training(images(pictures.path()), 224, 16), {.epochs = 201, .resources = {.threads = 2}});
  std::vector<double> early, late;
  for (int epoch = 0; epoch < 200; ++epoch) {
    ASSERT_EQ(ids_of(epoch_of(*loader)).size(), 60u);
    const auto resident = static_cast<double>(process_kib("VmRSS"));
    if (epoch >= 20 && epoch < 40) early.push_back(resident);
    if (epoch >= 180) late.push_back(resident);
  }
  std::printf("resident: median of epochs 20 to 39 %.0f KiB, of 180 to 199 %.0f KiB\n", median(early), median(late));
  EXPECT_LE(median(late), 1.02 * median(early));
}

TEST(SteadyMemory, a_thousand_loaders_leave_no_thread_and_no_descriptor) {
  const GeneratedPictures pictures(12, 32);
  const Pipeline pipeline = training(images(pictures.path()), 16, 4);
  const auto once = [&](int i) {
    const auto loader = opened(pipeline, {.resources = {.threads = 1 + i % 4}});
    if (i % 3 > 0) {
      ASSERT_TRUE(loader->next().ok());
    }
    if (i % 2 > 0) loader->close();
  };
  for (int i = 0; i < 20; ++i) once(i);
  const int64_t threads = thread_count(), descriptors = descriptor_count();
  for (int i = 0; i < (kSanitized ? 200 : 1000); ++i) once(i);
  EXPECT_TRUE(soon(thread_count, threads)) << thread_count();
  EXPECT_EQ(descriptor_count(), descriptors);
}

TEST(SteadyMemory, a_slow_consumer_lets_nothing_pile_up) {
  const GeneratedPictures pictures(60, 64);
  const auto loader =
      opened(training(images(pictures.path()), 32, 4), {.resources = {.threads = 2, .memory = 1 << 20}});
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(loader->next().ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_LE(loader->stats().memory_used, uint64_t{1} << 20);
  }
  EXPECT_LE(loader->stats().memory_peak, uint64_t{1} << 20);
}

TEST(SteadyMemory, a_user_may_hold_every_batch) {
  const GeneratedPictures pictures(60, 64);
  const auto loader =
      opened(training(images(pictures.path()), 32, 4), {.epochs = 4, .resources = {.threads = 2, .memory = 1 << 20}});
  std::vector<std::vector<Batch>> held;
  std::vector<std::string> digests;
  for (int epoch = 0; epoch < 4; ++epoch) {
    held.push_back(epoch_of(*loader));
    digests.push_back(digest_of(held.back()));
  }
  loader->close();
  for (size_t epoch = 0; epoch < held.size(); ++epoch)
    EXPECT_EQ(digest_of(held[epoch]), digests[epoch]) << "nobody wrote into them";
}

}  // namespace
}  // namespace forebay::tests
