#pragma once

#include <functional>
#include <memory>

#include "cache/cache.h"
#include "cluster/peer_store.h"

namespace forebay {

/// Who may have what was made of an element.
struct PeerPlace {
  PeerStore* store = nullptr;  ///< null: nobody that can be asked
  bool own = false;            ///< this host itself should have it
};
using PeerOf = std::function<PeerPlace(int64_t element)>;

/// A cache of this host, and behind it what a peer keeps of the same place. What a peer does not have after all, or gives damaged, is made as if
/// there were no peers, and the next time the peer is asked again.
///
/// `peer_of` may be called from any thread, and must not wait; stores that it gives live as long as the cache.
std::shared_ptr<TieredCache> peer_cache(std::shared_ptr<TieredCache> own, PeerOf peer_of);

}  // namespace forebay
