#include "format/lines/json_values.h"

#include <utility>

namespace forebay {

JsonValues::Event JsonValues::begun() const {
  if (depth_ == 0) return Event::kBegin;
  return depth_ == 1 && list_ ? Event::kBeginElement : Event::kNone;
}

JsonValues::Event JsonValues::ended() const {
  if (depth_ == 0) return Event::kEnd;
  return depth_ == 1 && list_ ? Event::kEndElement : Event::kNone;
}

JsonValues::Event JsonValues::end_word() { return std::exchange(in_word_, false) ? ended() : Event::kNone; }

JsonValues::Event JsonValues::close() {
  broken_ = broken_ || depth_ == 0;
  if (depth_ > 0) --depth_;
  return broken_ ? Event::kNone : ended();
}

void JsonValues::take_in_string(uint32_t c) {
  if (escaped_)
    escaped_ = false;
  else if (c == '\\')
    escaped_ = true;
  else if (c == '"')
    in_string_ = false;
}

JsonValues::Events JsonValues::take(uint32_t c) {
  if (in_string_) {
    take_in_string(c);
    return {Event::kNone, in_string_ ? Event::kNone : ended()};
  }
  switch (c) {
    case ' ':
    case '\t':
    case '\r':
    case '\n':
    case ',':
    case ':': return {end_word(), Event::kNone};
    case '}':
    case ']': {
      const Event before = end_word();
      return {before, close()};
    }
    case '"': {
      const Event before = end_word();
      in_string_ = true;
      return {before, begun()};
    }
    case '{':
    case '[': {
      const Event before = end_word();
      const Event here = begun();
      if (depth_++ == 0) list_ = c == '[';
      return {before, here};
    }
    default: return {Event::kNone, std::exchange(in_word_, true) ? Event::kNone : begun()};
  }
}

JsonValues::Event JsonValues::finish() { return end_word(); }

bool is_balanced_json(std::string_view text) {
  JsonValues values;
  for (const char c : text) values.take(static_cast<uint8_t>(c));
  values.finish();
  return values.balanced();
}

}  // namespace forebay
