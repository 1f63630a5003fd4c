#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "forebay/result.h"
#include "format/webdataset/tar_walker.h"

namespace forebay {

/// Which samples a shard has, where, and how large their files are. It is made of headers alone, is the same however it was found, and
/// is thrown away when the shard was cut into units.
struct TarIndex {
  struct File {
    uint32_t extension = 0;  ///< which of `extensions`
    uint64_t bytes = 0;
  };
  struct Sample {
    /// Behind the sample before; headers and what belongs to no sample come first. The range ends where the next one begins.
    uint64_t begin = 0;
    uint32_t first_file = 0;
    uint32_t name_bytes = 0;  ///< of its base name
  };

  std::vector<std::string> extensions;  ///< in the order in which they were met
  std::vector<Sample> samples;
  std::vector<File> files;
  uint64_t end = 0;  ///< of the last sample

  std::span<const File> files_of(size_t sample) const;
  uint64_t end_of(size_t sample) const { return sample + 1 < samples.size() ? samples[sample + 1].begin : end; }
  /// As bytes, a few for each file.
  std::string to_bytes() const;
  /// Nothing where that is no such index, or cannot be one of a tar of that size.
  static std::optional<TarIndex> from_bytes(std::string_view bytes, uint64_t tar_bytes);
};

/// Puts the files of a shard together to samples: those that follow each other and have one base name.
class SampleGrouper {
 public:
  /// In the order of the tar. Corrupt for paths that leave their folder, Unsupported where nearly every file has an extension of its own.
  Status add(const TarMember& member);
  TarIndex take() && { return std::move(index_); }

 private:
  TarIndex index_;
  std::unordered_map<std::string, uint32_t> extensions_;
  std::string base_;
};

}  // namespace forebay
