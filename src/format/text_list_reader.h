#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "format/csv_reader.h"

namespace forebay {

/// Parses text lists whose separator is not stated, such as "n01440764/a.JPEG 0" as Caffe and
/// ImageNet write them. The first line decides for all lines. The separator is a tab if that line
/// has one. Otherwise it is a run of blanks, unless only commas give as many fields as there are
/// columns. Tabs and commas are parsed as CsvReader does. Blank lines are skipped. One thread.
class TextListReader {
 public:
  /// `columns` is the number of columns, if it is known.
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
  std::optional<CsvReader> separated_;  ///< set if tabs or commas separate the fields
  bool begun_ = false;
  std::string rest_;  ///< the incomplete last line
  uint64_t line_ = 0;
};

}  // namespace forebay
