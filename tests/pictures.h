#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "base/eventually_test_support.h"
#include "base/sanitized_test_support.h"
#include "codec/jpeg_test_encoder.h"
#include "loader/loader_test_support.h"
#include "store/scratch_folder.h"

namespace forebay::tests {

using namespace loader_test;

/// Files that others made. Absent in a user's clone.
inline std::filesystem::path shared_data() {
  const char* named = std::getenv("FOREBAY_SHARED");
  return std::filesystem::path(named != nullptr ? named : FOREBAY_SOURCE_DIR "/../shared") / "data";
}

/// A folder per class with JPEG files of mixed size and kind, made here.
class GeneratedPictures {
 public:
  explicit GeneratedPictures(int count, int largest = 160) {
    for (int i = 0; i < count; ++i) {
      codec_test::JpegKind kind;
      kind.progressive = i % 7 == 3;
      if (i % 11 == 5) kind.channels = 1;
      const int width = 16 + i * 29 % largest, height = 16 + i * 53 % largest;
      const codec_test::Blob file = codec_test::encode_jpeg(width, height, kind, static_cast<uint32_t>(i));
      folder_.write("class" + std::to_string(i % 3) + "/" + std::to_string(1000 + i) + ".jpg",
                    {reinterpret_cast<const char*>(file.data()), file.size()});
    }
  }
  std::string path() const { return folder_.path(); }
  const ScratchFolder& folder() const { return folder_; }

 private:
  ScratchFolder folder_;
};

/// The pipeline of the documentation, with a smaller picture.
inline Pipeline training(const Pipeline& source, int64_t size, int64_t batch, BatchOptions last = {}) {
  return source.shuffle()
      .decode_image()
      .random_resized_crop(size)
      .random_flip()
      .normalize(imagenet())
      .batch(batch, std::move(last));
}

/// A line of /proc/self/status in KiB, e.g. "VmRSS".
inline int64_t process_kib(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(name + ":")) return std::atoll(line.c_str() + name.size() + 1);
  }
  return -1;
}

inline int64_t entries_of(const char* folder) {
  const std::filesystem::directory_iterator begin(folder);
  return std::distance(begin, std::filesystem::directory_iterator());
}
inline int64_t thread_count() { return entries_of("/proc/self/task"); }

/// Returns whether a count comes to a number. The kernel counts a joined thread for a moment
/// longer.
inline bool soon(int64_t (*count)(), int64_t number) {
  return eventually([&] { return count() == number; });
}
inline int64_t descriptor_count() { return entries_of("/proc/self/fd"); }

}  // namespace forebay::tests
