#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "format/files/open_store.h"

namespace forebay {

/// The storage options that put a slow, unreliable link before any store, for trying out what one would do.
std::span<const std::string_view> link_option_names();
bool is_link_option(std::string_view name);

/// The store itself where `options` (of link_option_names() only) is empty.
Result<std::shared_ptr<Store>> imitate_link(std::shared_ptr<Store> store, const StorageOptions& options);

}  // namespace forebay
