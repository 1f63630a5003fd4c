#pragma once

#include <memory>
#include <vector>

#include "base/source.h"
#include "cache/cache.h"
#include "cluster/entry_service.h"
#include "cluster/job.h"
#include "cluster/peer_store.h"
#include "loader/peers/entry_owner.h"
#include "loader/peers/peer_cache.h"

namespace forebay {

struct Ledger;

/// The cache entries that the ranks of a job share: serves the entries of this loader's caches to
/// the other ranks, and lets these caches find the entries of the other ranks.
///
/// The loader creates it and sets it up on its own thread; caches and the job's listener use it
/// from their threads. It shares ownership of the job, and holds the caches of this loader weakly.
class PeerGroup : public std::enable_shared_from_this<PeerGroup> {
 public:
  PeerGroup();
  /// The job's listener serves it as kEntryServiceName. It may outlive this group.
  std::shared_ptr<Service> service() const;
  /// Call it before caches join.
  void join_job(std::shared_ptr<Job> job);
  const std::shared_ptr<Job>& job() const { return job_; }

  /// Serves the entries of `cache` from now on. Returns a cache that also finds those of the peers.
  /// `first_element`: number of the cache's element 0 among those of all branches.
  std::shared_ptr<TieredCache> join(std::shared_ptr<TieredCache> cache, int64_t first_element = 0);
  /// No peer is asked until then. Further calls replace the owners, when the plan has changed.
  void set_owner(OwnerOf owner);
  /// Serves the versions of samples that the sources of all branches learn to the other ranks. Call
  /// it before set_owner().
  void set_versions(std::shared_ptr<const ElementNumbers> numbers, std::vector<std::shared_ptr<const Source>> sources);
  /// Sets the position of this loader's next batch, counted over all epochs. Peers wait for entries
  /// that this rank owns and that come later for the first time, since this rank will compute them.
  void set_position(int64_t position);

  /// Adds the store of each peer that received a request, as "peer host:port".
  void add_to(Ledger& ledger) const;

 private:
  class Entries;
  PeerOfEntry peer_of(int64_t element) const;

  const std::shared_ptr<Entries> entries_;
  std::shared_ptr<Job> job_;
  std::vector<std::shared_ptr<PeerStore>> peers_;  ///< by rank; null: this rank itself
};

}  // namespace forebay
