#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// UTF-8 text may begin with it. Programs on Windows write it.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// Parses RFC 4180 text that arrives in pieces: quoted fields with separators, newlines and doubled
/// quotes inside, CRLF or LF, an optional byte-order mark. Empty lines are skipped. A quote inside
/// an unquoted field is an ordinary character. Rows are limited in bytes and fields, so memory is
/// bounded for any input. One thread.
class CsvReader {
 public:
  static constexpr size_t kMaxRowBytes = 16 << 20;
  static constexpr size_t kMaxFields = 4096;

  /// Called with the fields of a row, which are valid during the call, and the line on which the
  /// row begins, counted from 1.
  using OnRow = std::function<Status(const std::vector<std::string_view>& fields, uint64_t line)>;

  CsvReader(char separator, OnRow on_row) : separator_(separator), on_row_(std::move(on_row)) {}
  /// Corrupt, naming the line, for text after a closing quote and for rows beyond the limits;
  /// otherwise the status that OnRow returned. After an error feed() must not be called again.
  Status feed(std::string_view piece);
  /// Ends the text and delivers the last row if no newline ended it. Corrupt if a quote was never
  /// closed; the error names the line on which it was opened.
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
  std::vector<size_t> ends_;  ///< ends of the row's complete fields
  bool quoted_field_ = false;
  uint64_t line_ = 1, row_line_ = 1, quote_line_ = 1;
};

}  // namespace forebay
