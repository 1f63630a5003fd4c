#include "format/files/path_pattern.h"

#include <algorithm>

#include <fmt/format.h>

#include "format/files/stat_all.h"

namespace forebay {

namespace {

constexpr std::string_view kEscapable = "*?[]{}", kWildcards = "*?[", kSpecial = "*?[{";

bool is_escape(std::string_view pattern, size_t at) {
  return at + 2 < pattern.size() && pattern[at] == '[' && pattern[at + 2] == ']' &&
         kEscapable.find(pattern[at + 1]) != std::string_view::npos;
}

size_t first_of(std::string_view pattern, std::string_view characters) {
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (is_escape(pattern, i))
      i += 2;
    else if (characters.find(pattern[i]) != std::string_view::npos)
      return i;
  }
  return std::string_view::npos;
}

/// True for a folder that is not empty; a bucket knows no other folders.
bool is_folder(Store& store, const std::string& folder, const std::stop_token& stop) {
  ListRequest request;
  request.prefix = folder;
  request.max_keys = 1;
  return list_wait(store, request, stop).ok();
}

bool is_file(Store& store, const std::string& path, const std::stop_token& stop) {
  return stat_wait(store, path, stop).ok();
}

}  // namespace

size_t first_special(std::string_view pattern) { return first_of(pattern, kSpecial); }
size_t first_wildcard(std::string_view pattern) { return first_of(pattern, kWildcards); }

std::string without_escapes(std::string_view pattern) {
  std::string text;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (is_escape(pattern, i)) {
      text += pattern[i + 1];
      i += 2;
    } else {
      text += pattern[i];
    }
  }
  return text;
}

std::string escaped(std::string_view path) {
  std::string pattern;
  for (const char c : path) {
    if (kEscapable.find(c) != std::string_view::npos)
      pattern.append({'[', c, ']'});
    else
      pattern += c;
  }
  return pattern;
}

std::string pattern_base(std::string_view pattern) {
  const std::string_view before = pattern.substr(0, std::min(first_special(pattern), pattern.size()));
  return without_escapes(before.substr(0, before.rfind('/') + 1));
}

Result<std::string> escape_existing(Store& store, const std::string& path, std::stop_token stop) {
  if (path.find_first_of(kSpecial) == std::string::npos) return path;
  // Checked name by name, because a pattern may follow a folder that exists, as in
  // "run[1]/*.parquet".
  std::string real;  // the part that exists
  size_t begin = 0;
  while (begin < path.size()) {
    const size_t slash = path.find('/', begin);
    const bool last = slash == std::string::npos;
    const std::string name = path.substr(begin, last ? slash : slash - begin + 1);
    const std::string whole = real + name;
    const bool plain = name.find_first_of(kSpecial) == std::string::npos;
    const bool there =
        plain || (last && is_file(store, whole, stop)) || is_folder(store, last ? whole + '/' : whole, stop);
    if (stop.stop_requested()) return cancelled("stopped while looking for files");
    if (!there && first_special(name) != std::string::npos) break;
    real += there ? name : without_escapes(name);
    begin += name.size();
  }
  return escaped(real) + path.substr(begin);
}

Status nothing_matches(Store& store, const std::string& name, const std::string& pattern, const std::string& searched) {
  const std::string origin = name == pattern ? "" : fmt::format(" (one of the names of '{}')", pattern);
  const std::string_view escapes =
      first_special(pattern) == std::string::npos
          ? ""
          : " (taken as a pattern, since nothing has exactly this name; to name a file or folder with *, ?, [ or { in "
            "it, write [*], [?], [[] or [{] for that character)";
  return not_found(fmt::format("nothing matches '{}'{}{}; the nearest folder that exists is '{}'",
                               store.remote() ? store.display_name(name) : name, origin, escapes,
                               nearest_folder(store, searched)));
}

}  // namespace forebay
