#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "forebay/result.h"
#include "format/webdataset/sample_name.h"
#include "format/webdataset/tar_links.h"
#include "format/webdataset/tar_walker.h"

namespace forebay {

/// The index of a shard: its samples, where they lie, and the sizes of their files. It is built
/// from the tar headers alone, and is the same whether it was read or loaded. It is dropped once
/// the shard has been divided into chunks.
struct TarIndex {
  struct File {
    uint32_t extension = 0;  ///< index into `extensions`
    uint64_t bytes = 0;      ///< size; for a link that of the file it leads to
  };
  /// A file that is a link; its data is elsewhere in the tar.
  struct Link {
    uint32_t file = 0;   ///< index into `files`
    bool found = false;  ///< true if it leads to a file of this tar
    uint64_t data = 0;   ///< offset of that file's data
  };
  /// Kinds of members that belong to no sample.
  enum Aside : uint8_t {
    kNoField,    ///< files whose names have no extension or begin with a dot
    kDevice,     ///< devices, pipes, and types of other programs
    kBehindEnd,  ///< data after the end of the tar that is not a tar; counted in bytes
    kApart,      ///< samples that repeat the name of an earlier, non-adjacent sample
    kAsideKinds,
  };
  struct LeftOut {
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
  std::array<LeftOut, kAsideKinds> aside = {};
  uint64_t end = 0;  ///< end of the last sample

  std::span<const File> files_of(size_t sample) const;
  uint64_t end_of(size_t sample) const { return sample + 1 < samples.size() ? samples[sample + 1].begin : end; }
  /// Serializes the index to a few bytes per file.
  std::string to_bytes() const;
  /// Parses the result of to_bytes(). Returns nullopt if the bytes are malformed or do not fit a
  /// tar of that size.
  static std::optional<TarIndex> from_bytes(std::string_view bytes, uint64_t tar_bytes);
};

/// Groups the files of a shard into samples: consecutive files with the same base name. One thread.
class SampleGrouper {
 public:
  explicit SampleGrouper(NameSplit split = NameSplit::kFirstDot) : split_(split) {}
  /// Takes the members in the order of the tar. Corrupt for paths that leave their folder,
  /// Unsupported if nearly every file has its own extension.
  Status add(const TarMember& member);
  /// True if some files are links. All members must then be passed again, to look_at().
  bool has_links() const { return !links_.empty(); }
  void look_at(const TarMember& member) { links_.look_at(member); }
  /// Returns the index. `left_behind` is TarWalker::left_behind().
  TarIndex take(uint64_t left_behind = 0) &&;

 private:
  void leave_out(TarIndex::Aside why, const std::string& name);
  void begin_sample(std::string_view base);
  void count_apart();

  const NameSplit split_;
  TarIndex index_;
  TarLinks links_;
  std::vector<size_t> link_numbers_;  // for each of index_.links, its number in links_
  std::vector<uint64_t> names_;       // hashes of the sample names
  std::unordered_map<std::string, uint32_t> extensions_;
  std::string base_;
};

}  // namespace forebay
