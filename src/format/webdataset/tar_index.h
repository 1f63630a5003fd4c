#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "format/webdataset/tar_walker.h"

namespace forebay {

/// The index of a shard: its samples, where they lie, and the sizes of their files. It is built
/// from the tar headers alone, and is the same whether it was read or loaded. It is dropped once
/// the shard has been divided into chunks.
struct TarIndex {
  static constexpr size_t kMaxExtensions = 256, kMostFiles = UINT32_MAX;

  struct File {
    uint64_t extension : 16 = 0;  ///< index into `extensions`
    /// Blocks from the end of the file before, or from the sample's beginning, to its data: 1 if
    /// only its header lies there.
    uint64_t gap : 48 = 0;
    uint64_t bytes = 0;  ///< size; for a link that of the file it leads to
  };
  /// A file that is a link; its data is elsewhere in the tar.
  struct Link {
    uint32_t file = 0;   ///< index into `files`
    bool found = false;  ///< true if it leads to a file of this tar
    uint64_t data = 0;   ///< offset of that file's data
  };
  /// Kinds of members that belong to no sample.
  enum SkippedKind : uint8_t {
    kNoField,      ///< files whose names have no extension or begin with a dot
    kDevice,       ///< devices, pipes, and types of other programs
    kAfterEnd,     ///< data after the end of the tar that is not a tar; counted in bytes
    kSplitSample,  ///< samples that repeat the name of an earlier, non-adjacent sample
    kSkippedKinds,
  };
  struct Skipped {
    uint64_t count = 0;
    std::string first = {};  ///< name of the first one
  };
  struct Sample {
    /// Offset of the end of the previous sample. Headers, and members that belong to no sample,
    /// come first in the range. The range ends where the next one begins.
    uint64_t begin = 0;
    uint32_t first_file = 0;
    uint32_t name_bytes = 0;  ///< length of its base name
  };

  std::vector<std::string> extensions;  ///< in order of first appearance
  std::vector<Sample> samples;
  std::vector<File> files;
  std::vector<Link> links;  ///< in the order of `files`
  std::array<Skipped, kSkippedKinds> skipped = {};
  uint64_t end = 0;  ///< end of the last sample

  std::span<const File> files_of(size_t sample) const;
  uint64_t end_of(size_t sample) const { return sample + 1 < samples.size() ? samples[sample + 1].begin : end; }
  /// Hash of the samples, with the names, sizes and links of their files.
  Hash128 content_hash() const;
  /// Serializes the index to a few bytes per file.
  std::string to_bytes() const;
  /// Parses the result of to_bytes(). Returns nullopt if the bytes are malformed or do not fit a
  /// tar of that size.
  static std::optional<TarIndex> from_bytes(std::string_view bytes, uint64_t tar_bytes);

 private:
  std::string content_to_bytes() const;
};

/// Goes through the files of an index in order, and finds where their content lies.
class TarFilePlaces {
 public:
  explicit TarFilePlaces(const TarIndex& index) : index_(index), link_(index.links.begin()) {}

  /// Goes to a sample. All of its files follow.
  void begin(size_t sample);
  /// Passes a file, and returns the range of its content: for a link that of the file it leads to,
  /// and nothing if there is none.
  ByteRange next();
  /// Offset of the end of the file before, or of the sample's beginning.
  uint64_t at() const { return at_; }

 private:
  const TarIndex& index_;
  std::vector<TarIndex::Link>::const_iterator link_;
  size_t file_ = 0;
  uint64_t at_ = 0;
};

}  // namespace forebay
