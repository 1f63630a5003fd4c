#include "format/text_list_reader.h"

#include <algorithm>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr std::string_view kBlanks = " \t\r";

/// Where the first line that is not blank begins, behind a byte-order mark; npos if there is none.
size_t first_text(std::string_view text) {
  return text.find_first_not_of(" \t\r\n", text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0);
}

std::vector<std::string_view> split_at_blanks(std::string_view line) {
  std::vector<std::string_view> fields;
  for (size_t begin = line.find_first_not_of(kBlanks); begin != std::string_view::npos;) {
    const size_t end = std::min(line.find_first_of(kBlanks, begin), line.size());
    fields.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(kBlanks, end);
  }
  return fields;
}

/// Returns nullopt for runs of blanks.
std::optional<char> separator_of(std::string_view line, std::optional<size_t> columns) {
  if (line.find('\t') != std::string_view::npos) return '\t';
  const auto commas = static_cast<size_t>(std::ranges::count(line, ','));
  const size_t blanks = split_at_blanks(line).size();
  const bool by_commas = columns ? commas + 1 == *columns && blanks != *columns : commas > 0 && blanks == 1;
  return by_commas ? std::optional(',') : std::nullopt;
}

}  // namespace

Status TextListReader::feed(std::string_view piece) {
  if (separated_) return separated_->feed(piece);
  rest_ += piece;
  if (!begun_) {
    // The first line decides the separator, so it must be complete.
    const size_t text = first_text(rest_);
    if (text == std::string::npos || rest_.find('\n', text) == std::string::npos) {
      if (rest_.size() <= CsvReader::kMaxRowBytes) return {};
      return corrupt(fmt::format("line 1: longer than {} bytes", CsvReader::kMaxRowBytes));
    }
  }
  return begun_ ? take_lines() : begin();
}

Status TextListReader::begin() {
  begun_ = true;
  const size_t text = std::min(first_text(rest_), rest_.size());
  const std::string_view first = std::string_view(rest_).substr(text, rest_.find('\n', text) - text);
  const std::optional<char> separator = separator_of(first, columns_);
  if (rest_.starts_with(kByteOrderMark)) rest_.erase(0, kByteOrderMark.size());
  if (!separator) return take_lines();
  separated_.emplace(*separator, std::move(on_row_));
  return separated_->feed(std::exchange(rest_, {}));
}

Status TextListReader::take_lines() {
  size_t begin = 0;
  for (size_t end = rest_.find('\n'); end != std::string::npos; end = rest_.find('\n', begin)) {
    FOREBAY_RETURN_IF_ERROR(take_line(std::string_view(rest_).substr(begin, end - begin)));
    begin = end + 1;
  }
  rest_.erase(0, begin);
  if (rest_.size() <= CsvReader::kMaxRowBytes) return {};
  return corrupt(fmt::format("line {}: longer than {} bytes", line_ + 1, CsvReader::kMaxRowBytes));
}

Status TextListReader::take_line(std::string_view line) {
  ++line_;
  const std::vector<std::string_view> fields = split_at_blanks(line);
  if (fields.size() > CsvReader::kMaxFields)
    return corrupt(fmt::format("line {}: more than {} columns", line_, CsvReader::kMaxFields));
  return fields.empty() ? Status() : on_row_(fields, line_);
}

Status TextListReader::finish() {
  if (!begun_) FOREBAY_RETURN_IF_ERROR(begin());
  if (separated_) return separated_->finish();
  FOREBAY_RETURN_IF_ERROR(take_lines());
  return rest_.empty() ? Status() : take_line(std::exchange(rest_, {}));
}

}  // namespace forebay
