#pragma once

#include <functional>
#include <memory>

#include "cache/cache.h"
#include "cluster/peer_store.h"

namespace forebay {

/// Peer that may have the cache entry of an element.
struct PeerOfEntry {
  PeerStore* store = nullptr;  ///< null if there is no such peer
  bool own = false;            ///< this host is the owner
};
using PeerOf = std::function<PeerOfEntry(int64_t element)>;

/// Returns a cache that looks up entries in `own` first, then at the peer that owns the entry. If
/// the peer lacks the entry or sends a damaged one, the caller computes the entry as if there were
/// no peers; the next lookup asks the peer again.
///
/// `first_element` is the number of the cache's element 0 among the elements that `peer_of` and the
/// peers know.
///
/// `peer_of` may be called from any thread and must not block. The stores that it returns must
/// outlive the cache.
std::shared_ptr<TieredCache> peer_cache(std::shared_ptr<TieredCache> own, PeerOf peer_of, int64_t first_element = 0);

}  // namespace forebay
