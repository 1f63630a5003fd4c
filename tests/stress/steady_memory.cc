#include <gtest/gtest.h>

#include <thread>

#include "pictures.h"

namespace forebay::tests {
namespace {

TEST(SteadyMemory, resident_memory_is_flat_over_200_epochs) {
  if (kSanitized) GTEST_SKIP() << "a sanitizer keeps freed memory";
  // Batches of 9.6 MB: what the heap breathes from epoch to epoch is little beside them, a sample kept an epoch is not.
  const GeneratedPictures pictures(60, 320);
  // The heap has found its size after some forty of them.
  const auto loader = opened(training(images(pictures.path()), 224, 16), {.epochs = 240, .threads = 2});
  double early = 0, late = 0;
  for (int epoch = 0; epoch < 240; ++epoch) {
    ASSERT_EQ(ids_of(epoch_of(*loader)).size(), 60u);
    const auto resident = static_cast<double>(process_kib("VmRSS"));
    if (epoch >= 40 && epoch < 60) early += resident / 20;
    if (epoch >= 220) late += resident / 20;
  }
  std::printf("resident: mean of epochs 40 to 59 %.0f KiB, of 220 to 239 %.0f KiB\n", early, late);
  EXPECT_LE(late, 1.02 * early);
}

TEST(SteadyMemory, a_thousand_loaders_leave_no_thread_and_no_descriptor) {
  const GeneratedPictures pictures(12, 32);
  const Pipeline pipeline = training(images(pictures.path()), 16, 4);
  const auto once = [&](int i) {
    const auto loader = opened(pipeline, {.threads = 1 + i % 4});
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
  const auto loader = opened(training(images(pictures.path()), 32, 4), {.threads = 2, .memory = 1 << 20});
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(loader->next().ok());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_LE(loader->stats().memory_used, uint64_t{1} << 20);
  }
  EXPECT_LE(loader->stats().memory_peak, uint64_t{1} << 20);
}

TEST(SteadyMemory, a_user_may_hold_every_batch) {
  const GeneratedPictures pictures(60, 64);
  const auto loader = opened(training(images(pictures.path()), 32, 4), {.epochs = 4, .threads = 2, .memory = 1 << 20});
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
