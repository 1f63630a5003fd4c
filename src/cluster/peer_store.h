#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/hash.h"
#include "cluster/patience.h"
#include "cluster/transport.h"
#include "store/store.h"

namespace forebay {

struct PeerStoreOptions {
  /// Without a byte of an answer: the host is away. One that brings up to `bytes` has twice as long in all, a larger one more.
  std::chrono::milliseconds deadline{1000};
  size_t requests = 8;       ///< in flight at most, and so connections
  size_t keys = 32;          ///< of one request at most,
  uint64_t bytes = 1 << 20;  ///< and of what it may bring, but for one key alone
  /// What is wanted while an answer is under way is asked for behind it, all together; it waits for about so long, twice that at most.
  std::chrono::milliseconds gathering{5};
  PatienceLimits patience = {};
};

/// The key under which a PeerStore reads a cache entry. `element`: the sample or chunk that the entry is
/// made of; negative where that is not known.
std::string entry_key(const Hash128& key, int64_t element = -1);
/// The key under which it reads what the peer has learned of the version of that sample: eight bytes.
std::string version_key(const Hash128& name, int64_t sample);

/// The cache entries of another host of the job as a store. Keys are those of entry_key() and version_key().
///
/// A peer is never the only one that has something, so its failures are no errors: a read gives no bytes,
/// soon, where the peer does not have the entry, is away or slow, refuses this host or lies. Two answers
/// say more: Cancelled, and OutOfBudget with the size for an entry that is larger than
/// ReadRequest::set_aside_bytes. One that is larger than ReadRequest::expected_size gives no bytes.
///
/// Entries that are wanted at the same time travel together: later ones gather while all calls are under
/// way, or as many bytes as the link brings soon (PeerPace).
///
/// An entry that the peer is going to make is asked for again as long as the peer gets on (Patience). No
/// thread and no call waits meanwhile. From any thread; the destructor answers all that is under way.
class PeerStore : public Store {
 public:
  /// Whether asking is worth trying (PeerHealth); without waiting.
  virtual bool may_ask() const = 0;
  /// It gave bytes that were not what it said they were: it is left out for a while.
  virtual void lied() = 0;
};

std::shared_ptr<PeerStore> peer_store(std::shared_ptr<Transport> transport, PeerHost host,
                                      PeerStoreOptions options = {});

}  // namespace forebay
