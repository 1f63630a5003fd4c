#include "format/csv_reader.h"

#include <fmt/format.h>

namespace forebay {

Status CsvReader::feed(std::string_view piece) {
  if (at_begin_) {
    // Pieces may be single bytes, so the mark may arrive in three of them.
    while (head_.size() < kByteOrderMark.size() && !piece.empty()) {
      head_ += piece.front();
      piece.remove_prefix(1);
    }
    if (head_.size() < kByteOrderMark.size()) return {};
    at_begin_ = false;
    if (head_ != kByteOrderMark) {
      for (const char c : head_) FOREBAY_RETURN_IF_ERROR(take(c));
    }
  }
  for (const char c : piece) FOREBAY_RETURN_IF_ERROR(take(c));
  return {};
}

Status CsvReader::take(char c) {
  if (state_ == State::kQuoted) {
    if (c == '"') {
      state_ = State::kQuoteInQuoted;
      return {};
    }
    if (c == '\n') ++line_;
  } else if (c == '"' && state_ == State::kFieldStart) {
    state_ = State::kQuoted;
    quoted_field_ = true;
    quote_line_ = line_;
    return {};
  } else if (c == '"' && state_ == State::kQuoteInQuoted) {
    state_ = State::kQuoted;
  } else if (c == separator_) {
    return end_field();
  } else if (c == '\n') {
    return end_row();
  } else if (state_ == State::kQuoteInQuoted || state_ == State::kClosed) {
    // Part of CRLF; a lone one after a quote is dropped. A quote after it is not the second of a
    // pair.
    if (c == '\r') {
      state_ = State::kClosed;
      return {};
    }
    return corrupt(fmt::format("line {}: text behind a closing quote; write quotes inside quotes twice", line_));
  } else {
    state_ = State::kPlain;
  }
  // An unclosed quote would otherwise take the rest of the file as one field.
  if (row_.size() >= kMaxRowBytes) {
    return corrupt(fmt::format("line {}: a row of more than {} bytes; is a quote left open?", row_line_, kMaxRowBytes));
  }
  row_ += c;
  return {};
}

Status CsvReader::end_field() {
  // The field after this separator counts as well.
  if (ends_.size() + 1 >= kMaxFields) {
    return corrupt(fmt::format("line {}: more than {} columns", row_line_, kMaxFields));
  }
  ends_.push_back(row_.size());
  state_ = State::kFieldStart;
  return {};
}

Status CsvReader::end_row() {
  const bool quoted = state_ == State::kQuoteInQuoted || state_ == State::kClosed;
  const size_t begin = ends_.empty() ? 0 : ends_.back();
  if (!quoted && row_.size() > begin && row_.back() == '\r') row_.pop_back();
  const uint64_t line = row_line_;
  row_line_ = ++line_;
  // Two quotes alone are a row of one empty field.
  const bool blank = ends_.empty() && row_.empty() && !quoted_field_;
  ends_.push_back(row_.size());
  std::vector<std::string_view> fields;
  size_t from = 0;
  for (const size_t end : ends_) {
    fields.push_back(std::string_view(row_).substr(from, end - from));
    from = end;
  }
  const Status status = blank ? Status() : on_row_(fields, line);
  row_.clear();
  ends_.clear();
  quoted_field_ = false;
  state_ = State::kFieldStart;
  return status;
}

Status CsvReader::finish() {
  if (at_begin_) {
    at_begin_ = false;
    for (const char c : head_) FOREBAY_RETURN_IF_ERROR(take(c));
  }
  // Names the line of the opening quote, not the end of the file, because that is the line to fix.
  if (state_ == State::kQuoted) return corrupt(fmt::format("line {}: this quote is never closed", quote_line_));
  const bool nothing = row_.empty() && ends_.empty() && !quoted_field_;
  return nothing ? Status() : end_row();
}

}  // namespace forebay
