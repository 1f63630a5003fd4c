#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "codec/jpeg_test_encoder.h"
#include "codec/png_test_encoder.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define FOREBAY_ALLOCATIONS_ARE_METERED 0
#elif defined(__has_feature)
#define FOREBAY_ALLOCATIONS_ARE_METERED (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define FOREBAY_ALLOCATIONS_ARE_METERED 1
#endif

#if FOREBAY_ALLOCATIONS_ARE_METERED

// These functions replace glibc's, so that every allocation of this test program is counted,
// including those of libraries.
namespace {
std::atomic<int64_t> g_live{0}, g_peak{0};

void* taken(void* memory) {
  if (memory == nullptr) return nullptr;
  const int64_t live = g_live += static_cast<int64_t>(malloc_usable_size(memory));
  for (int64_t peak = g_peak; live > peak && !g_peak.compare_exchange_weak(peak, live);) {
  }
  return memory;
}
void given_back(void* memory) {
  if (memory != nullptr) g_live -= static_cast<int64_t>(malloc_usable_size(memory));
}
}  // namespace

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
void __libc_free(void*);

void* malloc(size_t size) { return taken(__libc_malloc(size)); }
void* calloc(size_t count, size_t size) { return taken(__libc_calloc(count, size)); }
void* realloc(void* memory, size_t size) {
  given_back(memory);
  return taken(__libc_realloc(memory, size));
}
void* memalign(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }
void* aligned_alloc(size_t alignment, size_t size) { return taken(__libc_memalign(alignment, size)); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  *memory = taken(__libc_memalign(alignment, size));
  return *memory == nullptr ? 12 : 0;
}
void free(void* memory) {
  given_back(memory);
  __libc_free(memory);
}
}

namespace forebay {
namespace {

using namespace codec_test;

class Nothing : public RowSink {
 public:
  void row(const uint8_t*) override {}
};

/// Peak memory while this crop is decoded. The status is ignored.
int64_t measured_bytes(const Blob& bytes, const ImageInfo& info, const Rect& crop, ColorMode mode) {
  Nothing sink;
  const int64_t before = g_live;
  g_peak = before;
  (void)decode_rows(bytes, info, crop, mode, sink);
  return g_peak - before;
}

void expect_within_stated(const Blob& bytes, const std::string& name) {
  const auto info = probe_image(bytes);
  if (!info.ok() || info->pixels() > 50'000'000) return;
  const Rect middle = {info->stored_width / 3, info->stored_height / 3, (info->stored_width + 2) / 3,
                       (info->stored_height + 2) / 3};
  for (const ColorMode mode : {ColorMode::kRgb, ColorMode::kGray}) {
    for (const Rect& crop : {middle, whole(*info)}) {
      const int64_t measured = measured_bytes(bytes, *info, crop, mode);
      EXPECT_LE(measured, static_cast<int64_t>(decode_working_bytes(*info, crop, mode))) << name;
    }
  }
}

TEST(working_bytes, holds_for_made_jpegs) {
  for (const auto& [h, v] : {std::pair(1, 1), std::pair(2, 2), std::pair(4, 2), std::pair(1, 4)}) {
    for (const bool progressive : {false, true}) {
      for (const auto& [width, height] :
           {std::pair(16, 16), std::pair(1000, 700), std::pair(6000, 20), std::pair(20, 6000)}) {
        expect_within_stated(encode_jpeg(width, height, {.h = h, .v = v, .progressive = progressive}),
                             std::to_string(width) + "x" + std::to_string(height));
      }
    }
  }
  expect_within_stated(encode_jpeg(1000, 700, {.h = 2, .v = 2, .channels = 4, .stored = JCS_YCCK}), "YCCK");
  expect_within_stated(encode_jpeg(1000, 700, {.arithmetic = true}), "arithmetic");
}

TEST(working_bytes, holds_for_pngs_of_many_chunks) {
  const PngSamples picture = random_samples({8, 8, 8, PngColor::kRgb, false}, 1);
  Blob empty, headers;
  for (int i = 0; i < 100'000; ++i) put_chunk(empty, "IDAT", {});
  expect_within_stated(encode_png(picture, 256, empty), "empty chunks before the data");
  expect_within_stated(encode_png(picture, 256, {}, empty), "empty chunks after the data");
  const Blob plain = encode_png(picture);
  for (int i = 0; i < 50'000; ++i) {
    put_chunk(headers, "abCd", {});
    put_chunk(headers, "IHDR", Blob(plain.begin() + 16, plain.begin() + 29));
  }
  expect_within_stated(encode_png(picture, 256, headers), "many headers");
}

TEST(working_bytes, holds_for_real_and_malformed_files) {
  FOREBAY_NEED_SHARED_DATA();
  for (const auto& path :
       files_below({"images/odd", "images/odd-go", "images/webp", "images/d75", "images/scikit-samples",
                    "images/large-jpeg", "images/multichannel", "malformed"})) {
    expect_within_stated(read_file(path), path.string());
  }
}

TEST(working_bytes, is_not_much_more_than_a_photograph_takes) {
  FOREBAY_NEED_SHARED_DATA();
  for (const auto& path : files_below({"images/large-jpeg"})) {
    const Blob bytes = read_file(path);
    const auto info = probe_image(bytes);
    ASSERT_TRUE(info.ok());
    const auto stated = static_cast<double>(decode_working_bytes(*info, whole(*info), ColorMode::kRgb));
    EXPECT_LT(stated, 6.0 * static_cast<double>(measured_bytes(bytes, *info, whole(*info), ColorMode::kRgb))) << path;
  }
}

}  // namespace
}  // namespace forebay

#endif
