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

/// Which samples a shard has, where, and how large their files are. It is made of headers alone, is the same however it was found, and
/// is thrown away when the shard was cut into chunks.
struct TarIndex {
  struct File {
    uint32_t extension = 0;  ///< which of `extensions`
    uint64_t bytes = 0;      ///< of a link: those of the file that it leads to
  };
  /// A file that is a link; its bytes stand elsewhere in the tar.
  struct Link {
    uint32_t file = 0;   ///< which of `files`
    bool found = false;  ///< it leads to a file of this tar
    uint64_t data = 0;   ///< where the bytes of that file begin
  };
  /// Members that give no sample anything, by what they are.
  enum Aside : uint8_t {
    kNoField,    ///< files whose names have no extension or begin with a dot
    kDevice,     ///< devices, pipes, and what only some program knows
    kBehindEnd,  ///< bytes behind the end of the tar that are no tar; counted in bytes
    kApart,      ///< samples that bear the name of an earlier one, with others between
    kAsideKinds,
  };
  struct LeftOut {
    uint64_t count = 0;
    std::string first = {};  ///< its name
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
  std::vector<Link> links;  ///< in the order of `files`
  std::array<LeftOut, kAsideKinds> aside = {};
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
  explicit SampleGrouper(NameSplit split = NameSplit::kFirstDot) : split_(split) {}
  /// In the order of the tar. Corrupt for paths that leave their folder, Unsupported where nearly every file has an extension of its own.
  Status add(const TarMember& member);
  /// Where this is true all members are to be given once more, to look_at(): some are links.
  bool has_links() const { return !links_.empty(); }
  void look_at(const TarMember& member) { links_.look_at(member); }
  /// `left_behind`: that of the walker.
  TarIndex take(uint64_t left_behind = 0) &&;

 private:
  void leave_out(TarIndex::Aside why, const std::string& name);
  void begin_sample(std::string_view base);
  void count_apart();

  const NameSplit split_;
  TarIndex index_;
  TarLinks links_;
  std::vector<size_t> link_numbers_;  // of index_.links, in links_
  std::vector<uint64_t> names_;       // hashes of the samples' names
  std::unordered_map<std::string, uint32_t> extensions_;
  std::string base_;
};

}  // namespace forebay
