#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/files/index_files.h"
#include "format/lines/line_table.h"

namespace forebay {

/// The saved result of scanning a file.
struct LineIndex {
  TextForm form;
  std::vector<LineSlice> slices;
  friend bool operator==(const LineIndex&, const LineIndex&) = default;
};

/// Saves the text form and the slices of large files as index files (index_files.h) in
/// OpenLinesOptions::index_folder. A file is identified by its name, size and version, so a changed
/// file is scanned again. Nothing is saved for a file without a version.
class LineIndexFiles {
 public:
  static constexpr size_t kMaxFiles = 1024;
  /// Smaller files are scanned faster than an index is read.
  static constexpr uint64_t kLeastBytes = 8 << 20;

  LineIndexFiles(const Store& store, const OpenLinesOptions& options);
  std::optional<LineIndex> load(const LineFile& file) const;
  /// Saves the slices and the form in `file`.
  void save(const LineFile& file, std::span<const LineSlice> slices) const;
  std::string path(const LineFile& file) const;

 private:
  bool is_worth_saving(const LineFile& file) const;
  std::string identity(const LineFile& file) const;

  const Store& store_;
  const OpenLinesOptions& options_;
  const IndexFiles files_;
};

}  // namespace forebay
