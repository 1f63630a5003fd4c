#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "forebay/status.h"

namespace forebay {

/// Collects the differences between the schemas of a table's files, so that one error lists them
/// all. It refers to `names`, the display names of the files, which the caller owns.
class SchemaDifferences {
 public:
  explicit SchemaDifferences(std::span<const std::string> names) : names_(names) {}

  /// add() belongs to the check of this file from here on. Before the first call it belongs to file
  /// 0.
  void begin_file(size_t file) { current_ = file; }
  /// Records "'b' <how> 'a' <end>", where b is the name of `file` and a that of `other`. All files
  /// that differ in the same way become one entry.
  void add(size_t file, size_t other, std::string how, std::string end);
  /// Counts the differences found in the check of `first` for another file with the same schema.
  void repeat(size_t first);
  /// Records that the types of the column cannot be united. The error proposes a type for the first
  /// such column.
  void add_type_conflict(const std::string& column);

  bool empty() const { return files_.empty(); }
  /// The error that lists the differences, ten at most. `first_decides` is UniteInput's.
  Status error(bool first_decides) const;

 private:
  /// How the files differ, and from which file.
  using Difference = std::pair<std::string, std::string>;
  struct Files {
    size_t first = 0, count = 0;
  };

  const std::span<const std::string> names_;
  std::map<Difference, Files> files_;
  std::map<size_t, std::vector<Difference>> found_in_;  ///< by file
  std::string conflicting_column_;
  size_t current_ = 0;
};

}  // namespace forebay
