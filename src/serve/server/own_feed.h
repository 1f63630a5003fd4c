#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include "serve/server/feed.h"

namespace forebay {

/// A loader that takes another one's place, and what that shares, in words.
struct Reopened {
  std::unique_ptr<Loader> loader;
  std::string shares;
};
/// Asked before each batch whether clients that came or went make another loader better: no loader where not. `seen` is the asker's own,
/// 0 at first, for knowing what it has been told.
using Reopen = std::function<Result<Reopened>(uint64_t* seen)>;

/// The feed of a client that has a loader for itself; what it decodes is shared through caches.
std::unique_ptr<Feed> own_feed(std::unique_ptr<Loader> loader, Reopen reopen);

}  // namespace forebay
