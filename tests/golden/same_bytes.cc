#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include "ops/image/simd_level.h"
#include "pictures.h"

namespace forebay::tests {
namespace {

constexpr int64_t kGlobalBatch = 24;

Pipeline pipeline_of(const Pipeline& source, int64_t batch) {
  return source.shuffle()
      .decode_image()
      .random_resized_crop(56)
      .random_flip()
      .color_jitter({.brightness = {0.3}, .contrast = {0.3}, .saturation = {0.3}, .hue = {0.05}})
      .normalize(imagenet())
      .batch(batch);
}

// Of one epoch, over all ranks, each in its own loader.
std::string digest_of_ranks(const Pipeline& source, int world_size, LoaderOptions options = {}) {
  std::vector<std::unique_ptr<Loader>> ranks;
  options.seed = 21;
  options.epochs = 2;
  for (int rank = 0; rank < world_size; ++rank) {
    options.job.rank = rank;
    options.job.world_size = world_size;
    ranks.push_back(opened(pipeline_of(source, kGlobalBatch / world_size), options));
    EXPECT_TRUE(ranks.back()->set_epoch(1).ok());
  }
  EpochDigest digest;
  for (int64_t step = 0; step < ranks[0]->batches_per_epoch(); ++step) {
    for (const auto& loader : ranks) {
      const Result<std::optional<Batch>> batch = loader->next();
      EXPECT_TRUE(batch.ok()) << batch.status().to_string();
      if (!batch.ok() || !*batch) return "an error";
      digest.add(**batch);
    }
  }
  return std::to_string(digest.samples()) + " samples: " + digest.to_string();
}

// Gives back what the page cache has of these files.
void make_cold(const std::string& folder) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    const int file = ::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC);
    ::fsync(file);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
    ::close(file);
  }
}

void expect_same_bytes(const std::string& folder, int64_t take) {
  Pipeline source = images(folder);
  if (take > 0) source = source.take(take);
  const std::string expected = digest_of_ranks(source, 1, {.resources = {.threads = 1}});
  std::printf("%s\n", expected.c_str());
  const auto expect = [&](const std::string& what, int world_size, LoaderOptions options) {
    EXPECT_EQ(digest_of_ranks(source, world_size, std::move(options)), expected) << what;
  };
  for (const int threads : {2, 3, 8, 16})
    expect("threads " + std::to_string(threads), 1, {.resources = {.threads = threads}});
  for (const SimdLevel level : simd_levels()) {
    set_simd_level(level);
    expect("SIMD " + std::string(simd_level_name(level)), 1, {.resources = {.threads = 2}});
  }
  set_simd_level(best_simd_level());
  expect("little memory", 1, {.resources = {.threads = 3, .memory = uint64_t{6} << 20}});
  expect("much memory", 1, {.resources = {.threads = 3, .memory = uint64_t{1} << 30}});
  for (const int requests : {1, 256}) {
    expect("requests " + std::to_string(requests), 1, {.resources = {.threads = 2, .requests = requests}});
    for (const char* seed : {"1", "2"}) {
      LoaderOptions slow{.resources = {.threads = 3, .requests = requests}};
      slow.storage_options = {{"imitate_latency_ms", "0.1"}, {"imitate_jitter_ms", "1.5"}, {"imitate_seed", seed}};
      expect("slow storage, seed " + std::string(seed) + ", requests " + std::to_string(requests), 1, slow);
    }
  }
  for (const int ranks : {2, 3, 8}) expect("ranks " + std::to_string(ranks), ranks, {.resources = {.threads = 1}});
  make_cold(folder);
  expect("cold", 1, {.resources = {.threads = 2}});
  expect("warm", 1, {.resources = {.threads = 2}});
}

TEST(SameBytes, same_bytes_whatever_the_machinery_generated) {
  const GeneratedPictures pictures(70, 240);
  expect_same_bytes(pictures.path(), 0);
}

TEST(SameBytes, same_bytes_whatever_the_machinery_photographs) {
  const std::filesystem::path flowers = shared_data() / "images" / "flowers";
  if (!std::filesystem::exists(flowers)) GTEST_SKIP() << "SHARED DATA ABSENT: no photographs at " << flowers;
  expect_same_bytes(flowers.string(), kSanitized ? 24 : 240);
}

}  // namespace
}  // namespace forebay::tests
