#include <gtest/gtest.h>

#include <spng.h>

#include "forebay/ledger.h"
#include "pictures.h"

namespace forebay::tests {
namespace {

// The least memory with which a whole epoch goes through, found by doing what the errors say.
uint64_t least_memory(const Pipeline& pipeline, int threads) {
  uint64_t memory = 1;
  for (int tries = 0; tries < 50; ++tries) {
    Status status;
    Result<std::unique_ptr<Loader>> loader =
        Loader::open(pipeline, {.epochs = 1, .resources = {.threads = threads, .memory = memory}});
    if (!loader.ok()) {
      status = loader.status();
    } else {
      while (status.ok()) {
        const Result<std::optional<Batch>> batch = (*loader)->next();
        status = batch.status();
        if (batch.ok() && !*batch) return memory;
      }
    }
    EXPECT_EQ(status.code(), Code::kOutOfBudget) << status.to_string();
    if (status.code() != Code::kOutOfBudget) return 0;
    EXPECT_GT(status.bytes_needed(), memory) << "the figure must help: " << status.to_string();
    memory = std::max(memory + 1, status.bytes_needed());
  }
  ADD_FAILURE() << "50 figures, and none was enough";
  return 0;
}

TEST(BoundedMemory, what_is_just_enough_is_enough_and_never_exceeded) {
  const GeneratedPictures pictures(80, 400);
  const Pipeline pipeline = training(images(pictures.path()), 32, 8);
  const std::string expected = digest_of(epoch_of(*opened(pipeline, {.epochs = 1})));
  for (const int threads : {1, 4}) {
    const uint64_t least = least_memory(pipeline, threads);
    ASSERT_GT(least, 0u);
    std::printf("%d threads: %llu bytes are enough\n", threads, static_cast<unsigned long long>(least));
    for (const uint64_t memory : {least, least + least / 3, 4 * least}) {
      const auto loader =
          opened(pipeline, {.epochs = 1, .resources = {.threads = threads, .requests = 32, .memory = memory}});
      EXPECT_EQ(digest_of(epoch_of(*loader)), expected) << memory;
      EXPECT_LE(loader->stats().memory_peak, memory);
    }
  }
}

TEST(BoundedMemory, pictures_of_their_own_size_stay_within_it_too) {
  const GeneratedPictures pictures(40, 400);
  const Pipeline pipeline = images(pictures.path()).shuffle().decode_image().batch(1);
  const std::string expected = digest_of(epoch_of(*opened(pipeline, {.epochs = 1})));
  const uint64_t least = least_memory(pipeline, 3);
  const auto loader = opened(pipeline, {.epochs = 1, .resources = {.threads = 3, .memory = least}});
  EXPECT_EQ(digest_of(epoch_of(*loader)), expected);
  EXPECT_LE(loader->stats().memory_peak, least);
}

TEST(BoundedMemory, encoded_files_joined_as_bytes_stay_within_it) {
  const GeneratedPictures pictures(60, 400);
  const Pipeline pipeline = files(pictures.path() + "/**/*.jpg").shuffle().batch(8);
  const std::string expected = digest_of(epoch_of(*opened(pipeline, {.epochs = 1})));
  const uint64_t least = least_memory(pipeline, 2);
  const auto loader = opened(pipeline, {.epochs = 1, .resources = {.threads = 2, .memory = least}});
  EXPECT_EQ(digest_of(epoch_of(*loader)), expected);
  EXPECT_LE(loader->stats().memory_peak, least);
}

constexpr int kHugeWidth = 20'000, kHugeHeight = 10'000;  // 200 megapixels

void write_huge_jpeg(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  jpeg_compress_struct library = {};
  jpeg_error_mgr errors;
  library.err = jpeg_std_error(&errors);
  jpeg_create_compress(&library);
  jpeg_stdio_dest(&library, file);
  library.image_width = kHugeWidth;
  library.image_height = kHugeHeight;
  library.input_components = 1;
  library.in_color_space = JCS_GRAYSCALE;
  jpeg_set_defaults(&library);
  jpeg_start_compress(&library, TRUE);
  std::vector<uint8_t> pixels(kHugeWidth, 77);
  for (int y = 0; y < kHugeHeight; ++y) {
    JSAMPROW row = pixels.data();
    jpeg_write_scanlines(&library, &row, 1);
  }
  jpeg_finish_compress(&library);
  jpeg_destroy_compress(&library);
  std::fclose(file);
}

void write_huge_png(const std::string& path) {
  FILE* file = std::fopen(path.c_str(), "wb");
  ASSERT_NE(file, nullptr);
  spng_ctx* library = spng_ctx_new(SPNG_CTX_ENCODER);
  spng_ihdr header = {};
  header.width = kHugeWidth;
  header.height = kHugeHeight;
  header.bit_depth = 8;
  header.color_type = SPNG_COLOR_TYPE_GRAYSCALE;
  spng_set_ihdr(library, &header);
  spng_set_option(library, SPNG_IMG_COMPRESSION_LEVEL, 1);
  spng_set_png_file(library, file);
  ASSERT_EQ(spng_encode_image(library, nullptr, 0, SPNG_FMT_PNG, SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE), 0);
  const std::vector<uint8_t> row(kHugeWidth, 77);
  int result = 0;
  while (result == 0) result = spng_encode_row(library, row.data(), row.size());
  EXPECT_EQ(result, SPNG_EOI);
  spng_ctx_free(library);
  std::fclose(file);
}

class Huge : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    pictures_ = new GeneratedPictures(20, 64);
    write_huge_jpeg(pictures_->path() + "/class0/9000.jpg");
    write_huge_png(pictures_->path() + "/class1/9001.png");
  }
  static void TearDownTestSuite() {
    delete pictures_;
    pictures_ = nullptr;
  }
  static Pipeline cropped(int64_t max_pixels) {
    DecodeImageOptions decode;
    decode.max_pixels = max_pixels;
    return images(pictures_->path()).decode_image(decode).resize(ImageSize{16}).batch(6);
  }
  static inline GeneratedPictures* pictures_ = nullptr;
};

constexpr uint64_t kMemory = uint64_t{48} << 20;

TEST_F(Huge, is_unsupported_by_the_default_cap_and_handled_by_policy) {
  const Pipeline pipeline = cropped(100'000'000);
  for (const OnError policy : {OnError::kRaise, OnError::kSkip, OnError::kReplace}) {
    const auto loader =
        opened(pipeline, {.epochs = 1, .resources = {.threads = 2, .memory = kMemory}, .errors = {.on_error = policy}});
    int64_t samples = 0, raised = 0;
    while (true) {
      const Result<std::optional<Batch>> batch = loader->next();
      if (!batch.ok()) {
        EXPECT_EQ(batch.status().code(), Code::kUnsupported) << batch.status().to_string();
        EXPECT_EQ(batch.status().op(), "decode_image");
        EXPECT_NE(batch.status().key().find("900"), std::string::npos);
        EXPECT_NE(batch.status().message().find("max_pixels"), std::string::npos);
        ++raised;
        continue;
      }
      if (!*batch) break;
      samples += (*batch)->size();
    }
    EXPECT_EQ(raised, policy == OnError::kRaise ? 2 : 0);
    if (policy != OnError::kRaise) {
      EXPECT_EQ(samples, policy == OnError::kSkip ? 20 : 22);
    }
    EXPECT_LE(loader->stats().memory_peak, kMemory);
  }
}

TEST_F(Huge, with_the_cap_raised_is_decoded_within_the_budget) {
  const int64_t before = process_kib("VmRSS");
  const auto loader = opened(cropped(300'000'000), {.epochs = 1, .resources = {.threads = 2, .memory = kMemory}});
  int64_t samples = 0;
  while (true) {
    const Result<std::optional<Batch>> batch = loader->next();
    ASSERT_TRUE(batch.ok()) << batch.status().to_string();
    if (!*batch) break;
    samples += (*batch)->size();
  }
  EXPECT_EQ(samples, 22);
  EXPECT_LE(loader->stats().memory_peak, kMemory);
  if (!kSanitized) {
    const int64_t grown = process_kib("VmHWM") - before;
    std::printf("resident memory grew by at most %lld KiB\n", static_cast<long long>(grown));
    EXPECT_LE(grown, static_cast<int64_t>(kMemory / 1024) + 32 * 1024)
        << "the budget, and what the process itself needs";
  }
}

TEST_F(Huge, where_the_budget_cannot_hold_it_the_figure_is_told_and_true) {
  const Pipeline pipeline = cropped(300'000'000);
  for (const OnError policy : {OnError::kRaise, OnError::kSkip}) {
    const auto loader = opened(
        pipeline, {.epochs = 1, .resources = {.threads = 1, .memory = 1'300'000}, .errors = {.on_error = policy}});
    Status status;
    while (status.ok()) {
      const Result<std::optional<Batch>> batch = loader->next();
      status = batch.status();
      ASSERT_FALSE(batch.ok() && !*batch) << "1.3 MB were enough?";
    }
    EXPECT_EQ(status.code(), Code::kOutOfBudget)
        << "no policy acts on what depends on the machine: " << status.to_string();
    EXPECT_NE(status.key().find("900"), std::string::npos);
    EXPECT_LE(loader->stats().memory_peak, 1'300'000u);
  }
  const uint64_t least = least_memory(pipeline, 1);
  EXPECT_GT(least, 1'300'000u);
  EXPECT_LE(least, kMemory);
}

}  // namespace
}  // namespace forebay::tests
