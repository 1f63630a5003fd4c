#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>

#include "forebay/result.h"
#include "store/store.h"

namespace forebay {

// A path that a user passes is a pattern, or the name of something that exists. The special
// characters of a pattern are `*`, `?`, `[` and `{`. `[*]`, `[?]`, `[[]`, `[]]`, `[{]` and `[}]`
// are escapes: each stands for the character in it.

/// Position of the first special character that is not in an escape; npos if there is none.
size_t first_special(std::string_view pattern);
/// Position of the first wildcard (`*`, `?`, `[`) that is not in an escape, for patterns whose
/// braces have been expanded.
size_t first_wildcard(std::string_view pattern);
/// The text that a pattern without special characters stands for: escapes become their characters.
std::string without_escapes(std::string_view pattern);
/// A pattern that matches only `path`.
std::string escaped(std::string_view path);
/// The folders of the pattern before its first special character, without escapes. Empty or ends in
/// '/'.
std::string pattern_base(std::string_view pattern);

/// Escapes the special characters of the longest leading part of `path` that names a file or folder
/// in `store`, so that a path that exists is taken literally. Asks the store only if there are
/// special characters. Waits; Cancelled after a stop.
Result<std::string> escape_existing(Store& store, const std::string& path, std::stop_token stop);

/// The NotFound error for a name or pattern that matches nothing. Its message says how to escape
/// special characters, and names the nearest existing folder above the key `searched`. `name` is
/// `pattern` or one of the names that its braces spell out.
Status nothing_matches(Store& store, const std::string& name, const std::string& pattern, const std::string& searched);

}  // namespace forebay
