#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "store/store.h"

namespace forebay {

/// Asks for the sizes of `count` objects, many at a time. `key` is called on this thread; `on_size` one call at a
/// time, from any thread, in any order, with the size or nothing where there is no such object. Another error ends
/// it.
Status stat_all(Store& store, int64_t count, const std::function<std::string(int64_t)>& key, std::stop_token stop,
                const std::function<void(int64_t, std::optional<uint64_t>)>& on_size);

/// The nearest folder above `key` that exists, as messages call it; for "there is no such file" messages.
std::string nearest_folder(Store& store, const std::string& key);

}  // namespace forebay
