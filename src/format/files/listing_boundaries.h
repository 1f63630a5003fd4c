#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "format/files/index_files.h"

namespace forebay {

/// Folder → names that cut it into parts of about one page each, ascending.
using Boundaries = std::map<std::string, std::vector<std::string>>;

/// Where the large folders of a listing can be cut: what one walk learns and the next one begins with.
///
/// Boundaries say where requests begin and end, never what is in a folder: every name that a walk gives comes from the server in
/// that walk. So stale or wrong ones cost requests and cannot serve anything stale.
class BoundaryRecorder {
 public:
  /// A run of `entries` names next to each other in a folder of more than one page, and its greatest name.
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
  /// `listing`: what is listed, such as "s3://bucket/photos/".
  Boundaries load(const std::string& listing) const;
  void save(const std::string& listing, const Boundaries& boundaries) const;
  std::string path(const std::string& listing) const { return files_.path(listing); }

 private:
  const IndexFiles files_;
};

}  // namespace forebay
