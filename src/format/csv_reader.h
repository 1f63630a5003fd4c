#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// Reads RFC 4180 text that comes in pieces: quoted fields with separators, newlines and doubled quotes inside, CRLF
/// or LF, a byte-order mark. Empty lines are passed over; a quote inside an unquoted field is a character like
/// others. Rows are capped in bytes and fields, so memory is bounded whatever the text.
class CsvReader {
 public:
  static constexpr size_t kMaxRowBytes = 16 << 20;
  static constexpr size_t kMaxFields = 4096;

  /// Gets the fields of a row, valid during the call, and the line that it begins on (from 1).
  using OnRow = std::function<Status(const std::vector<std::string_view>& fields, uint64_t line)>;

  CsvReader(char separator, OnRow on_row) : separator_(separator), on_row_(std::move(on_row)) {}
  /// Corrupt, with the line, for text behind a closing quote and for rows beyond the caps; else what OnRow said. After an error no more may come.
  Status feed(std::string_view piece);
  /// The last row, where no newline ends it. Corrupt where a quote was never closed, with the line that it is on.
  Status finish();

 private:
  enum class State : uint8_t { kFieldStart, kPlain, kQuoted, kQuoteInQuoted, kClosed };
  Status take(char c);
  Status end_field();
  Status end_row();

  const char separator_;
  const OnRow on_row_;
  State state_ = State::kFieldStart;
  bool at_begin_ = true;
  std::string head_;          ///< up to three bytes that may be a byte-order mark
  std::string row_;           ///< the fields of the row, joined
  std::vector<size_t> ends_;  ///< of its complete fields
  bool quoted_field_ = false;
  uint64_t line_ = 1, row_line_ = 1, quote_line_ = 1;
};

}  // namespace forebay
