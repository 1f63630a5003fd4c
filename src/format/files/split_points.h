#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace forebay {

/// Names at which the rest of a folder may be divided, so that its parts can be listed at once.
/// They lie between the last name of `page` and `until` (or the folder's end), ascending, at most
/// `count`, without '/' after the folder's own.
///
/// The names are a guess from the names of one page. At every position up to the one where the
/// first and last name differ, the guess takes the greater characters of the same kind (digit,
/// letter, ...). A wrong guess costs a request that lists nothing; which names are listed does not
/// depend on it.
std::vector<std::string> split_points(const std::string& folder, const ListPage& page, std::string_view until,
                                      size_t count);

/// The greatest name of a page, without a folder's slash; empty if the page is empty.
std::string last_name(const ListPage& page);

}  // namespace forebay
