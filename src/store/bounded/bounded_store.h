#pragma once

#include <memory>

#include "store/store.h"

namespace forebay {

/// Returns a store that passes at most `most` calls at a time, of all kinds, to `inner`, which it
/// keeps alive. It is for users who limit the load on a server: listings, indexes and sizes count
/// as reads do.
///
/// Further calls wait, first come, first served. A stop answers a waiting call at once; that call
/// never reaches `inner`. Methods may be called from any thread.
std::shared_ptr<Store> bounded_store(std::shared_ptr<Store> inner, int most);

}  // namespace forebay
