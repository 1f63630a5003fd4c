#include "store/http/content_range.h"

#include <algorithm>
#include <charconv>

namespace forebay {

std::optional<uint64_t> parse_count(std::string_view text) {
  uint64_t value = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || parsed.ec != std::errc() || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  // RFC 9110, section 14.1: names of range units are case-insensitive.
  constexpr std::string_view kUnit = "bytes ";
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  if (!std::ranges::equal(text.substr(0, kUnit.size()), kUnit, {}, lower)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  const size_t dash = text.find('-'), slash = text.find('/');
  if (dash == std::string_view::npos || slash == std::string_view::npos || dash > slash) return std::nullopt;
  const auto first = parse_count(text.substr(0, dash)), last = parse_count(text.substr(dash + 1, slash - dash - 1));
  // RFC 9110, section 14.4: "*" if the size of the whole is not known.
  const std::string_view total_text = text.substr(slash + 1);
  const auto total = parse_count(total_text);
  if (!first || !last || *last < *first || (!total && total_text != "*") || (total && *last >= *total))
    return std::nullopt;
  return ContentRange{*first, *last, total};
}

Status check_part(const ByteRange& range, std::string_view content_range, uint64_t body_bytes) {
  const auto given = parse_content_range(content_range);
  // A shorter part is correct if the object ends inside the range; the caller decides what that
  // means.
  const bool right = given && given->first == range.offset && given->last - given->first < range.length &&
                     given->last - given->first + 1 == body_bytes;
  return right ? Status() : unavailable("the server answered with another part than it was asked for");
}

bool is_expressible_range(const ByteRange& range) {
  // The sum of two such numbers does not overflow, even as a signed one, which servers may use.
  constexpr uint64_t kMost = uint64_t{1} << 62;
  return range.length > 0 && range.offset < kMost && range.length < kMost;
}

}  // namespace forebay
