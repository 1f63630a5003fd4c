#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace forebay {

/// Where the rest of a folder may be cut, so that its parts can be listed at once: names between the last of `page` and `until`
/// (or the folder's end), ascending, at most `count`, without '/' behind the folder's own.
///
/// A guess from how the names of one page look: at every place up to the one where its first and last name differ, the greater
/// characters of the kind that stands there. A wrong guess costs a request that lists nothing; which names are listed does
/// not depend on it.
std::vector<std::string> split_points(const std::string& folder, const ListPage& page, std::string_view until,
                                      size_t count);

/// The greatest name of a page, without the slash of a folder; empty where the page is.
std::string last_name(const ListPage& page);

}  // namespace forebay
