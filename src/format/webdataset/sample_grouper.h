#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "forebay/status.h"
#include "format/webdataset/sample_name.h"
#include "format/webdataset/tar_index.h"
#include "format/webdataset/tar_links.h"
#include "format/webdataset/tar_walker.h"

namespace forebay {

/// Groups the files of a shard into samples: consecutive files with the same base name. One thread.
class SampleGrouper {
 public:
  explicit SampleGrouper(NameSplit split = NameSplit::kFirstDot) : split_(split) {}
  /// Takes the members in the order of the tar. Corrupt for paths that leave their folder,
  /// Unsupported if nearly every file has its own extension.
  Status add(const TarMember& member);
  /// True if some files are links. All members must then be passed again, to record_member().
  bool has_links() const { return !links_.empty(); }
  void record_member(const TarMember& member) { links_.record_member(member); }
  /// Returns the index. `trailing_bytes` is TarWalker::trailing_bytes().
  TarIndex take(uint64_t trailing_bytes = 0) &&;

 private:
  void skip(TarIndex::SkippedKind why, const std::string& name);
  void begin_sample(std::string_view base);
  void count_split_samples();

  const NameSplit split_;
  TarIndex index_;
  TarLinks links_;
  std::vector<size_t> link_numbers_;  // for each of index_.links, its number in links_
  std::vector<uint64_t> names_;       // hashes of the sample names
  std::unordered_map<std::string, uint32_t> extensions_;
  std::string base_;
};

}  // namespace forebay
