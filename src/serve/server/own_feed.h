#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "serve/server/feed.h"

namespace forebay {

/// A loader that takes another one's place, and what that shares, in words.
struct Reopened {
  std::unique_ptr<Loader> loader;
  std::string shares;
};
/// Opens it and has it ready; `stop` ends that.
using OpenAnother = std::function<Result<Reopened>(const std::stop_token& stop)>;
/// Asked before each batch whether clients that came or went make another loader better: nothing where not. Does not wait. `seen` is the asker's
/// own, 0 at first, for knowing what it has been told.
using FindBetter = std::function<OpenAnother(uint64_t* seen)>;

/// The feed of a client that has a loader for itself; what it decodes is shared through caches.
std::unique_ptr<Feed> own_feed(std::unique_ptr<Loader> loader, FindBetter better);

}  // namespace forebay
