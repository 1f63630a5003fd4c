#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// Expands `{a,b}` and `{000..099}` in a pattern to names, in the order written. Numbers keep the
/// width of the longer bound. A brace without a comma or two dots stands for itself. "[{]" and
/// "[}]" are left as they are, for without_escapes() or Glob. At most a million names.
Result<std::vector<std::string>> expand_braces(std::string_view pattern);

}  // namespace forebay
