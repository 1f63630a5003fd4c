#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "format/files/index_files.h"

namespace forebay {

/// Maps a folder to the names that divide it into parts of about one page each, in ascending order.
using Boundaries = std::map<std::string, std::vector<std::string>>;

/// Records where the large folders of a listing can be divided. One walk learns this, and the next
/// walk begins with it.
///
/// Boundaries determine where requests begin and end, never the contents of a folder: every name
/// that a walk returns comes from the server during that walk. Stale or wrong boundaries therefore
/// cost requests but cannot return stale names.
class BoundaryRecorder {
 public:
  /// Adds a run of `entries` consecutive names of a folder of more than one page. `last` is the
  /// greatest of them.
  void add(const std::string& folder, std::string last, uint64_t entries);
  Boundaries boundaries() &&;

 private:
  std::map<std::string, std::vector<std::pair<std::string, uint64_t>>> runs_;
};

/// Saves boundaries as index files (index_files.h) in `folder`, one for each listing.
class BoundaryFiles {
 public:
  static constexpr uint64_t kMaxFileBytes = 16 << 20;
  static constexpr size_t kMaxFiles = 256;

  explicit BoundaryFiles(std::string folder);
  /// `listing` names the listing, such as "s3://bucket/photos/".
  Boundaries load(const std::string& listing) const;
  void save(const std::string& listing, const Boundaries& boundaries) const;
  std::string path(const std::string& listing) const { return files_.path(listing); }

 private:
  const IndexFiles files_;
};

}  // namespace forebay
