#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "serve/server/feed.h"

namespace forebay {

/// A loader that replaces another one.
struct Successor {
  std::shared_ptr<Loader> loader;
  std::string shares;  ///< what it shares with other clients, for people
};
/// Opens and prepares the new loader. `stop` ends that.
using OpenSuccessor = std::function<Result<Successor>(const std::stop_token& stop)>;
/// Called before each batch to find out whether another loader is better now that clients have come
/// or gone. Returns an empty function if not. Does not block. `seen` belongs to the caller, begins
/// at 0 and records the latest set of clients that was examined.
using FindSuccessor = std::function<OpenSuccessor(uint64_t* seen)>;

/// Returns the feed of a client that has a loader of its own. It shares decoded samples with other
/// clients through caches.
std::unique_ptr<Feed> own_feed(std::shared_ptr<Loader> loader, FindSuccessor find_successor);

}  // namespace forebay
