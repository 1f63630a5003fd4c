#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "store/store.h"

namespace forebay {

/// Lists everything below the folder `prefix` ("" or ending in '/'), many folders at a time, and large folders in many parts at a
/// time where the store can be listed in ranges (then it also keeps where the parts began, for the next walk:
/// BoundaryFiles). `on_page` gets each page with the folder that it is of, one call at a time, from any thread and in any order; it
/// may drop prefixes that should not be entered. The first error ends the walk.
/// Waits; returns when no page is being given any more. Cancelled after a stop.
Status walk(Store& store, const std::string& prefix, std::stop_token stop,
            const std::function<void(const std::string& folder, ListPage& page)>& on_page);

}  // namespace forebay
