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
  /// Time without a byte of a response after which the host counts as unavailable. A response of up
  /// to `bytes` may take twice as long in total; a larger one, more.
  std::chrono::milliseconds deadline{1000};
  size_t requests = 8;       ///< limit of calls in flight, and so of connections
  size_t keys = 32;          ///< limit of keys in one call
  uint64_t bytes = 1 << 20;  ///< limit of bytes in one response, except for a single larger entry
  /// Reads that arrive while a call is in flight are gathered and sent together in the next call.
  /// They wait about this long, and at most twice as long.
  std::chrono::milliseconds gathering{5};
  PatienceLimits patience = {};
};

/// Returns the key under which a PeerStore reads a cache entry. `element` is the sample or chunk
/// that the entry belongs to; negative if it is not known.
std::string entry_key(const Hash128& key, int64_t element = -1);
/// Returns the key under which a PeerStore reads the version of the sample as far as the peer has
/// learned it: eight bytes.
std::string version_key(const Hash128& name, int64_t sample);

/// The cache entries of another host of the job, as a store. Its keys are those of entry_key() and
/// version_key().
///
/// A peer never has the only copy of anything, so its failures are not errors: a read returns an
/// empty buffer, soon, if the peer does not have the entry, is unavailable or slow, refuses this
/// host, or sends damaged bytes. Two answers carry more information: Cancelled, and OutOfBudget
/// with the size of an entry that is larger than ReadRequest::set_aside_bytes. An entry larger than
/// ReadRequest::expected_size is returned empty.
///
/// Entries that are wanted at the same time share a call: later reads are gathered while all calls
/// are in flight, or while as many bytes are in flight as the link delivers soon (PeerPace).
///
/// An entry that the peer has announced is requested again as long as the peer makes progress
/// (Patience). No thread and no call waits meanwhile. Methods may be called from any thread; the
/// destructor answers all reads in flight.
class PeerStore : public Store {
 public:
  /// Returns whether a read is worth trying (PeerHealth). Does not wait.
  virtual bool may_ask() const = 0;
  /// Reports that the peer sent other bytes than it said: it is backed off.
  virtual void report_mismatch() = 0;
};

std::shared_ptr<PeerStore> peer_store(std::shared_ptr<Transport> transport, PeerHost host,
                                      PeerStoreOptions options = {});

}  // namespace forebay
