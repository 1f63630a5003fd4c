#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "store/store.h"

namespace forebay {

/// Asks for the sizes and versions of `count` objects, many at a time. `key` is called on this
/// thread. `on_info` is called from any thread, one call at a time and in any order, with the
/// store's answer, or null if there is no such object. Any other error ends the operation.
///
/// Waits for the last answer, also after an error or a stop: nothing is in flight when it returns.
Status stat_all(Store& store, int64_t count, const std::function<std::string(int64_t)>& key, std::stop_token stop,
                const std::function<void(int64_t, const ObjectInfo*)>& on_info);

/// The display name of the nearest existing folder above `key`, for "there is no such file"
/// messages.
std::string nearest_folder(Store& store, const std::string& key);

}  // namespace forebay
