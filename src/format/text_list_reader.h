#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "format/csv_reader.h"

namespace forebay {

/// Reads lists of text whose fields have no stated separator ("n01440764/a.JPEG 0", as Caffe and ImageNet write them). The first line
/// decides for all: a tab, if it has one; else runs of blanks, unless only commas give as many fields as there are columns.
/// Tabs and commas are read as CsvReader does. Lines of blanks are passed over.
class TextListReader {
 public:
  /// `columns`: how many there are, where that is known.
  TextListReader(std::optional<size_t> columns, CsvReader::OnRow on_row)
      : columns_(columns), on_row_(std::move(on_row)) {}
  Status feed(std::string_view piece);
  Status finish();

 private:
  Status begin();
  Status take_line(std::string_view line);
  Status take_lines();

  const std::optional<size_t> columns_;
  CsvReader::OnRow on_row_;
  std::optional<CsvReader> separated_;  ///< where tabs or commas separate
  bool begun_ = false;
  std::string rest_;  ///< the line that is not complete
  uint64_t line_ = 0;
};

}  // namespace forebay
