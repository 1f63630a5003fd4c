#pragma once

#include <functional>
#include <stop_token>
#include <string>

#include "store/store.h"

namespace forebay {

/// Lists everything below the folder `prefix` ("" or ending in '/'), many folders at a time. If the
/// store can list ranges, large folders are listed in many parts at a time; where the parts began
/// is then saved for the next walk (BoundaryFiles).
///
/// `on_page` gets each page and its folder, from any thread, one call at a time and in any order.
/// It may drop prefixes that should not be entered. The first error ends the walk.
///
/// Waits, and returns when no call of `on_page` runs any more. Cancelled after a stop.
Status walk(Store& store, const std::string& prefix, std::stop_token stop,
            const std::function<void(const std::string& folder, ListPage& page)>& on_page);

}  // namespace forebay
