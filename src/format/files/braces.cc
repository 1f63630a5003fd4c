#include "format/files/braces.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/format.h>

namespace forebay {

namespace {

constexpr size_t kMaxNames = 1'000'000;
constexpr size_t kMaxNameBytes = 256 << 20;

bool is_escaped(std::string_view text, size_t at) {
  return at > 0 && at + 1 < text.size() && text[at - 1] == '[' && text[at + 1] == ']';
}

struct Braces {
  size_t open, close;
  std::vector<std::string_view> choices;  ///< separated by commas, outside inner braces
};

/// Position of the first brace from `from` on that is not escaped as "[{]".
size_t find_open(std::string_view text, size_t from) {
  size_t open = text.find('{', from);
  while (open != std::string_view::npos && is_escaped(text, open)) open = text.find('{', open + 1);
  return open;
}

/// The first pair of braces that is an alternative or a range.
std::optional<Braces> find_braces(std::string_view text, size_t from) {
  for (size_t open = find_open(text, from); open != std::string_view::npos; open = find_open(text, open + 1)) {
    Braces found{open, 0, {}};
    int depth = 0;
    size_t begin = open + 1;
    for (size_t i = open; i < text.size(); ++i) {
      if ((text[i] == '{' || text[i] == '}') && is_escaped(text, i)) continue;
      if (text[i] == '{') ++depth;
      if ((text[i] == ',' && depth == 1) || (text[i] == '}' && depth == 1)) {
        found.choices.push_back(text.substr(begin, i - begin));
        begin = i + 1;
      }
      if (text[i] == '}' && --depth == 0) {
        found.close = i;
        break;
      }
    }
    const bool whole = found.close != 0;
    if (whole && (found.choices.size() > 1 || found.choices[0].find("..") != std::string_view::npos)) return found;
  }
  return std::nullopt;
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

/// Expands "000..099" to its numbers; nullopt if it is not a range.
std::optional<std::vector<std::string>> expand_range(std::string_view choice) {
  const size_t dots = choice.find("..");
  if (dots == std::string_view::npos) return std::nullopt;
  const std::string_view from = choice.substr(0, dots), to = choice.substr(dots + 2);
  const auto first = number(from), last = number(to);
  if (!first || !last) return std::nullopt;
  // As in shells, a leading zero in either bound asks for equal widths.
  const bool padded = (from.size() > 1 && from[0] == '0') || (to.size() > 1 && to[0] == '0');
  const size_t width = padded ? std::max(from.size(), to.size()) : 0;
  const int64_t step = *first <= *last ? 1 : -1;
  const auto others = static_cast<uint64_t>((*last - *first) * step);
  // A range may have any length. Returns one name more than the limit, which the caller refuses.
  if (others >= kMaxNames || (others + 1) * width > kMaxNameBytes) return std::vector<std::string>(kMaxNames + 1);
  std::vector<std::string> names;
  for (int64_t i = *first;; i += step) {
    names.push_back(fmt::format("{:0{}}", i, width));
    if (i == *last) return names;
  }
}

}  // namespace

Result<std::vector<std::string>> expand_braces(std::string_view pattern) {
  std::vector<std::string> done;
  // Expands depth first, so that names come in the order written. The last entry is expanded next.
  std::vector<std::pair<std::string, size_t>> open{{std::string(pattern), 0}};
  // Total of all held texts; limited, so a short pattern cannot fill memory.
  size_t bytes = pattern.size();
  while (!open.empty()) {
    auto [text, from] = std::move(open.back());
    open.pop_back();
    const auto braces = find_braces(text, from);
    if (!braces) {
      done.push_back(std::move(text));
      continue;
    }
    std::vector<std::string> choices(braces->choices.begin(), braces->choices.end());
    if (choices.size() == 1) {
      auto range = expand_range(choices[0]);
      if (!range) {
        // The inner part may still hold alternatives.
        open.emplace_back(std::move(text), braces->open + 1);
        continue;
      }
      choices = std::move(*range);
    }
    const std::string head = text.substr(0, braces->open), tail = text.substr(braces->close + 1);
    bytes += choices.size() * (head.size() + tail.size()) - text.size();
    for (const std::string& choice : choices) bytes += choice.size();
    if (open.size() + done.size() + choices.size() > kMaxNames || bytes > kMaxNameBytes) {
      return invalid_argument(fmt::format("'{}' stands for more than {} names, or {} MiB of them", pattern, kMaxNames,
                                          kMaxNameBytes >> 20));
    }
    for (size_t i = choices.size(); i-- > 0;) open.emplace_back(head + choices[i] + tail, head.size());
  }
  return done;
}

}  // namespace forebay
