#pragma once

#include <functional>
#include <memory>

#include "cache/cache.h"
#include "cluster/peer_store.h"

namespace forebay {

/// The peer that may have the entry of an element.
struct PeerOfEntry {
  PeerStore* store = nullptr;  ///< null: there is no peer to ask
  bool own = false;            ///< this host is the owner
};
using PeerOf = std::function<PeerOfEntry(int64_t element)>;

/// Combines a cache of this host with the entries that peers cache for the same place. If a peer
/// lacks an entry, or sends a damaged one, the entry is computed as if there were no peers, and the
/// peer is asked again the next time.
///
/// `peer_of` may be called from any thread and must not block. The stores that it returns must
/// outlive the cache.
std::shared_ptr<TieredCache> peer_cache(std::shared_ptr<TieredCache> own, PeerOf peer_of);

}  // namespace forebay
