#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "format/lines/line_table.h"

namespace forebay {

struct LineIndex {
  TextForm form;
  std::vector<LineSlice> slices;
  friend bool operator==(const LineIndex&, const LineIndex&) = default;
};

/// Keeps the form and where the slices of large files begin, in files of one folder: readable by its owner only, replaced in one step, checked by a hash, kMaxFiles
/// at most (the longest unused go). A file is found by its name, size and version, so that one that changed is scanned anew; without a
/// version nothing is kept. What cannot be read or written is as if it were not there.
class LineIndexFiles {
 public:
  static constexpr size_t kMaxFiles = 1024;
  static constexpr uint64_t kLeastBytes = 8 << 20;  ///< smaller ones are scanned in no time

  LineIndexFiles(const Store& store, const OpenLinesOptions& options) : store_(store), options_(options) {}
  std::optional<LineIndex> load(const LineFile& file) const;
  /// With the file's own form.
  void save(const LineFile& file, std::span<const LineSlice> slices) const;
  std::string path(const LineFile& file) const;

 private:
  bool keeps(const LineFile& file) const;
  void remove_oldest() const;

  const Store& store_;
  const OpenLinesOptions& options_;
};

}  // namespace forebay
