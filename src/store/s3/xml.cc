#include "store/s3/xml.h"

#include <charconv>
#include <cstdint>

#include <fmt/format.h>

#include "base/utf8.h"

namespace forebay {

namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == ':' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

Status XmlReader::fail(std::string_view what) const {
  return corrupt(fmt::format("not XML that can be read: {} at byte {}", what, size_ - rest_.size()));
}

void XmlReader::skip_spaces() {
  while (!rest_.empty() && is_space(rest_.front())) rest_.remove_prefix(1);
}

Status XmlReader::pass_over(std::string_view end, std::string_view what) {
  const size_t at = rest_.find(end);
  if (at == std::string_view::npos) return fail(what);
  rest_.remove_prefix(at + end.size());
  return {};
}

Result<XmlEvent> XmlReader::next() {
  if (close_next_) {
    close_next_ = false;
    const std::string_view closed = open_.back();
    open_.pop_back();
    return XmlEvent{XmlEvent::Kind::kEnd, closed, {}};
  }
  while (true) {
    // Outside of the root blanks are no text; inside of elements they may be part of a name.
    if (open_.empty()) skip_spaces();
    if (rest_.empty()) {
      if (!open_.empty()) return fail("the end is missing");
      if (!root_seen_) return fail("there is no element");
      return XmlEvent{};
    }
    if (rest_.starts_with("<?")) {
      FOREBAY_RETURN_IF_ERROR(pass_over("?>", "a declaration without end"));
    } else if (rest_.starts_with("<!--")) {
      FOREBAY_RETURN_IF_ERROR(pass_over("-->", "a comment without end"));
    } else if (rest_.front() == '<' && !rest_.starts_with("<![CDATA[")) {
      return tag();
    } else {
      if (open_.empty()) return fail("text outside of elements");
      return text();
    }
  }
}

Result<std::string_view> XmlReader::name() {
  size_t end = 0;
  while (end < rest_.size() && is_name(rest_[end])) ++end;
  if (end == 0 || end > kMaxNameBytes) return fail("a name is missing or too long");
  std::string_view found = rest_.substr(0, end);
  rest_.remove_prefix(end);
  return found;
}

Status XmlReader::attributes(bool* empty_element) {
  while (true) {
    skip_spaces();
    *empty_element = rest_.starts_with("/>");
    if (*empty_element || rest_.starts_with('>')) {
      rest_.remove_prefix(*empty_element ? 2 : 1);
      return {};
    }
    FOREBAY_RETURN_IF_ERROR(name().status());
    skip_spaces();
    if (!rest_.starts_with('=')) return fail("an attribute without value");
    rest_.remove_prefix(1);
    skip_spaces();
    if (!rest_.starts_with('"') && !rest_.starts_with('\'')) return fail("an attribute without quotes");
    // Passed over, but read: a '>' in quotes ends no tag.
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    const size_t end = rest_.find(quote);
    if (end == std::string_view::npos || rest_.substr(0, end).find('<') != std::string_view::npos) {
      return fail("an attribute without end");
    }
    rest_.remove_prefix(end + 1);
  }
}

Result<XmlEvent> XmlReader::tag() {
  // Servers choose their prefixes; S3's answers mix no vocabularies, so the local name tells enough.
  const auto local = [](std::string_view full) { return full.substr(full.rfind(':') + 1); };
  if (rest_.starts_with("</")) {
    rest_.remove_prefix(2);
    FOREBAY_ASSIGN(const std::string_view closed, name());
    skip_spaces();
    if (!rest_.starts_with('>')) return fail("a tag without end");
    rest_.remove_prefix(1);
    if (open_.empty() || open_.back() != local(closed)) return fail("an end that nothing began");
    const std::string_view found = open_.back();
    open_.pop_back();
    return XmlEvent{XmlEvent::Kind::kEnd, found, {}};
  }
  rest_.remove_prefix(1);
  FOREBAY_ASSIGN(const std::string_view opened, name());
  FOREBAY_RETURN_IF_ERROR(attributes(&close_next_));
  if (open_.empty() && root_seen_) return fail("a second root");
  if (open_.size() >= kMaxDepth) return fail("too many levels");
  root_seen_ = true;
  open_.push_back(local(opened));
  return XmlEvent{XmlEvent::Kind::kBegin, open_.back(), {}};
}

Status XmlReader::entity(std::string* out) {
  // "&#x10ffff;" has 10: a search without a bound would make many '&' quadratic.
  const size_t end = rest_.substr(0, 12).find(';');
  if (end == std::string_view::npos) return fail("an entity without end");
  const std::string_view body = rest_.substr(1, end - 1);
  if (body.starts_with('#')) {
    const bool is_hex = body.starts_with("#x");
    const std::string_view digits = body.substr(is_hex ? 2 : 1);
    uint32_t code = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), code, is_hex ? 16 : 10);
    const bool valid = parsed.ec == std::errc() && parsed.ptr == digits.data() + digits.size() && code != 0 &&
                       code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    if (!valid) return fail("a character number that is none");
    append_utf8(code, *out);
  } else if (body == "amp") {
    *out += '&';
  } else if (body == "lt") {
    *out += '<';
  } else if (body == "gt") {
    *out += '>';
  } else if (body == "quot") {
    *out += '"';
  } else if (body == "apos") {
    *out += '\'';
  } else {
    return fail("an unknown entity");
  }
  rest_.remove_prefix(end + 1);
  return {};
}

Result<XmlEvent> XmlReader::text() {
  constexpr std::string_view kCdata = "<![CDATA[", kCdataEnd = "]]>";
  // One event for text, entities and CDATA side by side, so that a name comes whole.
  XmlEvent event{XmlEvent::Kind::kText, open_.back(), {}};
  while (!rest_.empty()) {
    if (rest_.starts_with(kCdata)) {
      rest_.remove_prefix(kCdata.size());
      const size_t end = rest_.find(kCdataEnd);
      if (end == std::string_view::npos) return fail("a CDATA section without end");
      event.text += rest_.substr(0, end);
      rest_.remove_prefix(end + kCdataEnd.size());
    } else if (rest_.front() == '&') {
      FOREBAY_RETURN_IF_ERROR(entity(&event.text));
    } else if (rest_.front() == '<') {
      break;
    } else {
      const size_t end = std::min(rest_.find_first_of("<&"), rest_.size());
      event.text += rest_.substr(0, end);
      rest_.remove_prefix(end);
    }
  }
  return event;
}

Result<std::string> XmlReader::text_of_element() {
  std::string all;
  while (true) {
    FOREBAY_ASSIGN(XmlEvent event, next());
    if (event.kind == XmlEvent::Kind::kEnd) return all;
    if (event.kind != XmlEvent::Kind::kText) return fail("an element where text should be");
    all += event.text;
  }
}

Status XmlReader::skip_element() {
  for (size_t depth = 1; depth > 0;) {
    FOREBAY_ASSIGN(const XmlEvent event, next());
    if (event.kind == XmlEvent::Kind::kBegin) ++depth;
    if (event.kind == XmlEvent::Kind::kEnd) --depth;
    if (event.kind == XmlEvent::Kind::kDone) return fail("the end is missing");
  }
  return {};
}

}  // namespace forebay
