#pragma once

#include <cstddef>
#include <stop_token>
#include <string>
#include <string_view>

#include "forebay/result.h"
#include "store/store.h"

namespace forebay {

// A path as users give it may be the name of something that exists or a pattern. The special characters of a pattern are
// `*`, `?`, `[` and `{`. `[*]`, `[?]`, `[[]`, `[]]`, `[{]` and `[}]` are escapes: each stands for the character in it.

/// The place of the first special character that is not in an escape; npos where there is none.
size_t first_special(std::string_view pattern);
/// The same of wildcards alone (`*`, `?`, `[`), for what is left after braces were expanded.
size_t first_wildcard(std::string_view pattern);
/// The text that a pattern without special characters stands for: escapes become their characters.
std::string without_escapes(std::string_view pattern);
/// A pattern that only `path` matches.
std::string escaped(std::string_view path);
/// The folders of the pattern before its first special character, without escapes. Empty or ends in '/'.
std::string pattern_base(std::string_view pattern);

/// What exists is that path: escapes the special characters of the longest leading part of `path` that is the name of a file or a
/// folder in `store`. Asks the store only where there are special characters. Cancelled after a stop. Waits.
Result<std::string> escape_existing(Store& store, const std::string& path, std::stop_token stop);

/// The refusal (NotFound) of a name or pattern that nothing matches. Tells how to escape special characters, and the nearest folder
/// above `searched`, a key, that exists. `name` is `pattern` or one of the names that its braces spell out.
Status nothing_matches(Store& store, const std::string& name, const std::string& pattern, const std::string& searched);

}  // namespace forebay
