#pragma once

#include <memory>

#include "store/store.h"

namespace forebay {

/// The same store with at most so many calls at a time, of all kinds; more wait for their turn. For users who fix how much a server
/// is asked for at once: listings, indexes and sizes count as reads do.
std::shared_ptr<Store> bounded_store(std::shared_ptr<Store> inner, int most);

}  // namespace forebay
