#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace forebay {

/// A path pattern: `*` and `?` inside a name, `[a-z]` and `[!a-z]` of bytes, `**` for any number of
/// folders. Names are bytes. Hidden names are not special here; callers skip them. Matching takes
/// at most time proportional to the length of the pattern times that of the path. Immutable.
class Glob {
 public:
  explicit Glob(std::string_view pattern);

  /// The folders before the first wildcard, without escapes (path_pattern.h), at which a search
  /// begins. Empty or ends in '/'.
  const std::string& base() const { return base_; }
  /// True for a path below the base, given relative to it.
  bool matches(std::string_view path) const;
  /// True when something in this folder (relative to the base, ending in '/') or below may match.
  bool may_match_below(std::string_view folder) const;

 private:
  std::string base_;
  std::vector<std::string> parts_;
};

/// Matches one name against one pattern, both without slashes.
bool matches_name(std::string_view pattern, std::string_view name);

}  // namespace forebay
