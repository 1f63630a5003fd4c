#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "format/files/open_store.h"

namespace forebay {

/// The storage options that simulate a slow, unreliable link in front of any store, to try how a
/// job would behave on one.
std::span<const std::string_view> link_option_names();
bool is_link_option(std::string_view name);

/// Wraps the store in the simulated link. `options` may hold only link_option_names(). Returns the
/// store itself if `options` is empty.
Result<std::shared_ptr<Store>> imitate_link(std::shared_ptr<Store> store, const StorageOptions& options);

}  // namespace forebay
