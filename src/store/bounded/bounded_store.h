#pragma once

#include <memory>

#include "store/store.h"

namespace forebay {

/// The same store with at most so many calls at a time, of all kinds; more wait for their turn. For users who fix how much a server
/// is asked for at once: listings, indexes and sizes count as reads do.
/// First come, first served. A stop answers a call that waits at once; it then never reaches the inner store, which this one keeps
/// alive. From any thread.
std::shared_ptr<Store> bounded_store(std::shared_ptr<Store> inner, int most);

}  // namespace forebay
