#include "format/files/glob.h"

#include <algorithm>
#include <vector>

#include "format/files/path_pattern.h"

namespace forebay {

namespace {

/// Position after the closing bracket of the class at `p`; 0 if it is never closed, so that '[' is
/// an ordinary character.
size_t class_end(std::string_view pattern, size_t p) {
  size_t first = p + 1;
  if (first < pattern.size() && (pattern[first] == '!' || pattern[first] == '^')) ++first;
  const size_t close = pattern.find(']', first + 1);  // "[]x]": a leading bracket is a member
  return close == std::string_view::npos ? 0 : close + 1;
}

/// `members` is the text between the brackets.
bool class_has(std::string_view members, char c) {
  const bool negated = members[0] == '!' || members[0] == '^';
  if (negated) members.remove_prefix(1);
  const auto wanted = static_cast<unsigned char>(c);
  bool found = false;
  while (!members.empty()) {
    const bool range = members.size() >= 3 && members[1] == '-';
    const auto low = static_cast<unsigned char>(members[0]), high = static_cast<unsigned char>(members[range ? 2 : 0]);
    found = found || (wanted >= low && wanted <= high);
    members.remove_prefix(range ? 3 : 1);
  }
  return found != negated;
}

/// Size of the UTF-8 character at the beginning of `text`; 1 if it is invalid.
size_t character_bytes(std::string_view text) {
  size_t n = 1;
  if (static_cast<unsigned char>(text[0]) < 0xC0) return n;
  while (n < text.size() && n < 4 && (static_cast<unsigned char>(text[n]) & 0xC0) == 0x80) ++n;
  return n;
}

/// The match of one pattern element against the beginning of a name, as the bytes consumed in each.
struct Step {
  size_t pattern_bytes = 0, name_bytes = 0;  ///< 0 if it does not match
};
Step step(std::string_view pattern, size_t p, std::string_view name) {
  if (p >= pattern.size()) return {};
  if (pattern[p] == '?') return {1, character_bytes(name)};
  if (pattern[p] == '[') {
    if (const size_t end = class_end(pattern, p)) {
      return class_has(pattern.substr(p + 1, end - p - 2), name[0]) ? Step{end - p, 1} : Step{};
    }
  }
  return pattern[p] == name[0] ? Step{1, 1} : Step{};
}

}  // namespace

bool matches_name(std::string_view pattern, std::string_view name) {
  // On a mismatch the last star takes one more byte. Earlier stars never need to be reconsidered.
  size_t p = 0, n = 0, star = std::string_view::npos, star_n = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      star_n = n;
    } else if (const Step taken = step(pattern, p, name.substr(n)); taken.name_bytes > 0) {
      p += taken.pattern_bytes;
      n += taken.name_bytes;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++star_n;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t slash = path.find('/');
    if (slash != 0 && !path.empty()) parts.push_back(path.substr(0, slash));
    if (slash == std::string_view::npos) return parts;
    path.remove_prefix(slash + 1);
  }
}

/// The pattern positions that are possible after these names; position i means that the parts
/// before i are consumed.
std::vector<bool> parts_after(const std::vector<std::string>& parts, const std::vector<std::string_view>& names) {
  // All positions are tracked at once, without backtracking, so a pattern with many "**" takes at
  // most the product of both lengths.
  std::vector<bool> at(parts.size() + 1, false);
  const auto skip_stars = [&](std::vector<bool>& reachable) {
    for (size_t i = 0; i < parts.size(); ++i) {
      if (reachable[i] && parts[i] == "**") reachable[i + 1] = true;
    }
  };
  at[0] = true;
  skip_stars(at);
  for (const std::string_view name : names) {
    std::vector<bool> next(parts.size() + 1, false);
    for (size_t i = 0; i < parts.size(); ++i) {
      if (!at[i]) continue;
      if (parts[i] == "**")
        next[i] = true;
      else if (matches_name(parts[i], name))
        next[i + 1] = true;
    }
    skip_stars(next);
    at = std::move(next);
  }
  return at;
}

}  // namespace

Glob::Glob(std::string_view pattern) {
  const size_t wild = std::min(first_wildcard(pattern), pattern.size());
  const size_t base_end = pattern.substr(0, wild).rfind('/') + 1;
  base_ = without_escapes(pattern.substr(0, base_end));
  for (const std::string_view part : split(pattern.substr(base_end))) parts_.emplace_back(part);
  // "photos/**" means the files below.
  if (!parts_.empty() && parts_.back() == "**") parts_.emplace_back("*");
}

bool Glob::matches(std::string_view path) const { return parts_after(parts_, split(path)).back(); }

bool Glob::may_match_below(std::string_view folder) const {
  const std::vector<bool> reachable = parts_after(parts_, split(folder));
  return std::find(reachable.begin(), reachable.end() - 1, true) != reachable.end() - 1;
}

}  // namespace forebay
