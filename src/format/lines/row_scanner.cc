#include "format/lines/row_scanner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace forebay {

namespace {
constexpr uint32_t kUtf16Mark = 0xFEFF;
}

void RowScanner::Slices::add(uint64_t begin, uint64_t end, int64_t line) {
  const bool too_long = end - begin > kMostLineBytes;
  if (too_long || (open_ && open_->end - open_->begin >= slice_bytes_)) close();
  if (!open_) open_ = LineSlice{begin, begin, line, rows_, 0, false};
  open_->end = too_long ? begin + kMostLineBytes : end;
  open_->cut = too_long;
  ++open_->rows;
  ++rows_;
  if (too_long) close();
}

void RowScanner::Slices::close() {
  if (open_) slices_.push_back(*std::exchange(open_, std::nullopt));
}

std::vector<LineSlice> RowScanner::Slices::take() {
  close();
  return std::move(slices_);
}

RowScanner::RowScanner(TextForm form, LineRows rows, uint64_t slice_bytes)
    : form_(form), rows_(rows), whole_(slice_bytes), elements_(slice_bytes) {}

void RowScanner::feed(std::span<const uint8_t> bytes) {
  if (form_.chunk_bytes() == 1) {
    for (const uint8_t byte : bytes) {
      ++next_;
      take(byte);
      at_ = next_;
    }
    return;
  }
  for (const uint8_t byte : bytes) {
    ++next_;
    half_.push_back(byte);
    if (half_.size() < 2) continue;
    const bool little = form_.encoding == TextEncoding::kUtf16Little;
    take(static_cast<uint32_t>(half_[little ? 0 : 1] | half_[little ? 1 : 0] << 8));
    half_.clear();
    at_ = next_;
  }
}

void RowScanner::take(uint32_t c) {
  if (at_ == 0 && c == kUtf16Mark) return;
  if (form_.values) return take_value_char(c);
  if (c == '\n') return end_line(next_);
  blank_ = blank_ && (c == ' ' || c == '\t' || c == '\r');
}

void RowScanner::take_value_char(uint32_t c) {
  // This is a byte-order mark: find_text_form() has checked that a list or an object comes first.
  if (at_ < 3 && c >= 0x80 && form_.encoding == TextEncoding::kUtf8) return;
  const JsonValues::Events events = values_.take(c);
  on_event(events.before, at_);
  if (events.here == JsonValues::Event::kBegin) {
    value_begin_ = at_;
    if (whole_.rows() == 0) list_first_ = c == '[';
  } else if (events.here == JsonValues::Event::kBeginElement) {
    element_begin_ = at_;
  } else {
    on_event(events.here, next_);
  }
}

void RowScanner::on_event(JsonValues::Event event, uint64_t at) {
  if (event == JsonValues::Event::kEnd) whole_.add(value_begin_, at, whole_.rows());
  // Only for the first value. If a second one follows, elements are not rows.
  if (event == JsonValues::Event::kEndElement && whole_.rows() == 0)
    elements_.add(element_begin_, at, elements_.rows());
}

void RowScanner::end_line(uint64_t end) {
  if (rows_ == LineRows::kAll || !blank_) whole_.add(line_begin_, end, line_);
  line_begin_ = end;
  ++line_;
  blank_ = true;
}

Result<std::vector<LineSlice>> RowScanner::finish() {
  if (!form_.values) {
    if (next_ > line_begin_) end_line(next_);
    return whole_.take();
  }
  on_event(values_.finish(), next_);
  if (!values_.balanced()) {
    const int64_t ended = list_first_ && whole_.rows() == 0 ? elements_.rows() : whole_.rows();
    return corrupt(fmt::format(
        "JSON over several lines, or a list, that is not closed: {} values end before, and the file ends inside of "
        "another one; it was cut off, or is not JSON behind byte {}",
        ended, std::max(value_begin_, element_begin_)));
  }
  return list_first_ && whole_.rows() == 1 ? elements_.take() : whole_.take();
}

}  // namespace forebay
